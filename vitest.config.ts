import { setFlagsFromString } from 'node:v8';
import { defineConfig } from 'vitest/config';

// For the threads that run tests, which make much that is soon garbage: with less room, a third of their time goes into collecting it.
setFlagsFromString('--min-semi-space-size=32');

/** No unit tests: what needs a build, a network of its own, or to be alone. */
const OTHERS = ['test/fleet/**', 'test/docs/site/**', 'test/runtimes/**', 'test/consumers/**', 'test/bench/**'];

/** Tests that play many cases or run programs. They take longer than all others, and twice as long where lines are counted. */
const LONG = [
  'test/{docs,examples,simulation,worlds}/**/*.test.ts',
  'test/**/*.{fuzz,properties}.test.ts',
  'test/budgets.test.ts',
  'test/cli/{crash,processes}.test.ts',
  'test/node/{file-quota-store.processes,serve-cors.chromium,serve-page}.test.ts',
  'test/quota/gate/two-processes.test.ts',
  'test/quota/lease/lease-client.weighted-counter.test.ts',
];

const MINUTES = ['test/fleet/minutes.test.ts'];

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
    expect: { poll: { timeout: 60_000 } },
    // Threads start sooner than processes.
    pool: 'threads',
    // All cores: much of the time is waiting for processes and timers.
    maxWorkers: '100%',
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/**/*.d.ts'],
      thresholds: { lines: 95 },
      // A folder of its own, since a run empties it: the reports of other runs are beside it.
      reportsDirectory: 'coverage/lines',
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          // Two hundred threads would take as long to start as all tests to run. `anew.ts` keeps the files apart.
          isolate: false,
          setupFiles: ['test/support/anew.ts', 'test/support/preload.ts'],
          sequence: { setupFiles: 'list' },
          include: ['test/**/*.test.ts'],
          exclude: [...OTHERS, ...LONG],
        },
      },
      { extends: true, test: { name: 'long', setupFiles: ['test/support/preload.ts'], include: LONG, exclude: OTHERS } },
      {
        // Many processes that share windows of seconds: what runs beside them would be measured too, and a machine that stalls
        // for half a second is measured in place of them, so what fails has to fail three times.
        extends: true,
        test: { name: 'fleet', include: ['test/fleet/**/*.test.ts'], exclude: MINUTES, retry: 2 },
      },
      // Waits for whole minutes, and does little meanwhile.
      { extends: true, test: { name: 'minutes', include: MINUTES } },
      {
        extends: true,
        test: {
          name: 'types',
          include: [],
          // A configuration of its own, so that the compiler reads these tests and the source alone.
          typecheck: { enabled: true, only: true, include: ['test/**/*.test-d.ts'], tsconfig: './test/types.tsconfig.json' },
        },
      },
    ],
  },
});
