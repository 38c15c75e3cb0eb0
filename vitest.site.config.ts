import { defineConfig } from 'vitest/config';

/** The tests of the built site: `npm run test:docs` builds it before. */
export default defineConfig({ test: { name: 'site', include: ['test/docs/site/**/*.test.ts'], testTimeout: 60_000 } });
