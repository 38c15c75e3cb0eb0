// Prints how many bytes a request and a look at the log of a busy client allocate, as JSON. Started with a heap that need not be swept.
import { SlidingLog } from '../../src/quota/ledger/candidates/sliding-log.ts';

declare const gc: () => void;

const MINUTE_MS = 60_000;
const EVERY_MS = 10;
const REQUESTS = 1000;

const log = new SlidingLog(Number.POSITIVE_INFINITY, MINUTE_MS);
let nowMs = 0;

function request(): void {
  nowMs += EVERY_MS;
  log.add(nowMs);
  log.answer(nowMs, nowMs);
  log.sent(nowMs);
}

while (nowMs < 1.1 * MINUTE_MS) request();
gc();
const before = process.memoryUsage().heapUsed;
for (let made = 0; made < REQUESTS; made++) request();
console.log(JSON.stringify({ bytes: Math.round((process.memoryUsage().heapUsed - before) / REQUESTS) }));
