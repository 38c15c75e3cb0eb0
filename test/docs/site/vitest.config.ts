import { defineConfig } from 'vitest/config';

/** The tests of the built site: `npm run test:docs` builds it before. */
export default defineConfig({
  root: new URL('../../..', import.meta.url).pathname,
  test: {
    name: 'site',
    include: ['test/docs/site/**/*.test.ts'],
    reporters: ['default', 'json'],
    outputFile: { json: 'coverage/site.json' },
    testTimeout: 300_000,
  },
});
