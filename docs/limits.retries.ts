/**
 * Prints the table of docs/limits.md about services that fail at random, from calls in fake time:
 *
 *     npm exec -c 'node --experimental-transform-types --no-warnings docs/limits.retries.ts'
 */
import { callAtRandom } from '../test/retry/random-failures.ts';
import { FakeTime } from './fake-time.ts';

const CALLS = 10_000;
const SEEDS = [1, 2, 3];
const DAYS_MS = 30 * 86_400_000;

const time = new FakeTime();
time.install();
console.log('| requests that fail | requests for each call | calls of 10,000 that fail |\n|---|---|---|');
for (const failing of [0.05, 0.1, 0.2, 0.3, 0.5]) {
  const { requests, failed } = await measure(failing);
  console.log(`| ${100 * failing} % | ${requests.toFixed(2)} | ${Math.round(failed).toLocaleString('en')} |`);
}
process.exit();

async function measure(failing: number): Promise<{ requests: number; failed: number }> {
  const sum = { requests: 0, failed: 0 };
  for (const seed of SEEDS) {
    time.set(0);
    const work = callAtRandom({ failing, calls: CALLS, concurrency: 1, seed });
    await time.run(work, DAYS_MS);
    const { requestsPerCall, failed } = await work;
    sum.requests += requestsPerCall / SEEDS.length;
    sum.failed += failed / SEEDS.length;
  }
  return sum;
}
