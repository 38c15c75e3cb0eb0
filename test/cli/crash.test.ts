import { expect, test } from 'vitest';
import { crashRuns } from './support/crash-runs.ts';
import { randomFrom } from './support/random-from.ts';

test('petstore sync, killed and started again, loses no adjustment and applies none twice', async () => {
  const result = await crashRuns(6, randomFrom(20_261_121));
  expect(result.faults).toEqual([]);
  expect(result.killed).toBe(6);
});
