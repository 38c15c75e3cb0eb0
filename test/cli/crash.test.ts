import { expect, test } from 'vitest';
import { crashRuns } from './support/crash-runs.ts';
import { randomFrom } from './support/random-from.ts';

test('petstore sync, killed and started again, loses no adjustment and applies none twice', async () => {
  const result = await crashRuns('sync', 6, randomFrom(20_261_121));
  expect(result.faults).toEqual([]);
  expect(result.killed).toBe(6);
});

test('petstore undo, killed and started again, leaves the stock as it was before the job', async () => {
  const result = await crashRuns('undo', 6, randomFrom(20_261_122));
  expect(result.faults).toEqual([]);
  expect(result.killed).toBe(6);
});
