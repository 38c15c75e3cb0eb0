// What a call loads when it first needs it, before a test takes over the clock: loading takes turns of the real one.
await Promise.all([
  import('../../src/retry/backoff.ts'),
  import('bottleneck/light.js'),
  import('../../src/json/is-beginning.ts'),
  import('../../src/json/problems.ts'),
  import('../../src/operations/fetched-response.ts'),
  import('../../src/operations/item-batches.ts'),
  import('../../src/operations/long-list.ts'),
  import('../../src/transport/ky-http.ts'),
  import('../../src/sync/journal-record.ts'),
]);
