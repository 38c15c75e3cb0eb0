import { defineConfig } from 'vitest/config';

const source = (path: string) => new URL(`./src/${path}`, import.meta.url).pathname;

export default defineConfig({
  resolve: {
    alias: [
      { find: /^petstore-inventory$/, replacement: source('index.ts') },
      { find: /^petstore-inventory\/(sandbox|node|redis|otel|undici)$/, replacement: source('$1/index.ts') },
    ],
  },
  test: {
    reporters: ['default', 'json'],
    outputFile: { json: 'coverage/results.json' },
    // Far more than any test takes: on a busy machine programs may start a hundred times as slowly.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // All cores: much of the time is waiting for processes and timers.
    maxWorkers: '100%',
    coverage: { provider: 'v8', include: ['src/**/*.ts'], exclude: ['src/**/*.d.ts'], thresholds: { lines: 95 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          setupFiles: ['test/support/preload.ts'],
          include: ['test/**/*.test.ts'],
          exclude: ['test/fleet/**', 'test/docs/site/**', 'test/runtimes/**', 'test/consumers/**', 'test/bench/**'],
        },
      },
      {
        // Many processes that share windows of seconds: what runs beside them would be measured too, and a machine that stalls
        // for half a second is measured in place of them, so what fails has to fail three times.
        extends: true,
        test: { name: 'fleet', include: ['test/fleet/**/*.test.ts'], retry: 2 },
      },
      {
        extends: true,
        test: {
          name: 'types',
          include: [],
          typecheck: { enabled: true, only: true, include: ['test/**/*.test-d.ts'], tsconfig: './tsconfig.json' },
        },
      },
    ],
  },
});
