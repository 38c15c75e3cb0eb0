/**
 * Makes many calls over real HTTP against a service that fails often, and aborts some of them. Succeeds only if nothing is left behind and
 * the result of every update is true. `SOAK_CALLS` sets how many calls.
 */
import { getEventListeners } from 'node:events';
import { isPetStoreError, PetStoreClient } from 'petstore-inventory';
import { type ServedSandbox, serveSandbox } from 'petstore-inventory/node';
import { Judge, type Told } from './judge.ts';
import { leftResources, usedHeap } from './leaks.ts';

const CALLS = Number(process.env.SOAK_CALLS ?? 100_000);
const AT_ONCE = 50;
const WARM_UP_CALLS = 5_000;
const MOST_HEAP_GROWTH = 5 * 1_048_576;
/** One request in twenty goes wrong. */
const FAULTS = [
  { rate: 0.008, status: 500 },
  { rate: 0.008, status: 502, headers: { 'retry-after': '0.05' } },
  { rate: 0.008, status: 503 },
  { rate: 0.002, status: 408 },
  { rate: 0.0001, status: 429, headers: { 'retry-after': '0.1' } },
  { rate: 0.008, fail: 'reset' },
  { rate: 0.006, fail: 'lost' },
  { rate: 0.002, fail: 'stall' },
  { rate: 0.002, fail: 'stall-body' },
  { rate: 0.004, fail: 'cut' },
  { rate: 0.002, fail: 'malformed' },
] as const;

type Served = ServedSandbox<'soak'>;

const counts = { calls: 0, values: 0, failures: 0, aborts: 0, strange: 0 };
const told = new Map<string, Told>();
const strange: string[] = [];
const forever = new AbortController();

process.on('unhandledRejection', (reason) => note(`unhandled rejection: ${reason}`));
process.on('warning', (warning) => note(`warning: ${warning.message}`));

function note(what: string): void {
  counts.strange++;
  if (strange.length < 10) strange.push(what);
}

/** Every third call may not be repeated, and every thirtieth is aborted at some instant of its life. */
function optionsOf(call: number): { maxRetries: number; signal: AbortSignal } {
  const signal = call % 30 === 0 ? abortedWithin(Math.random() * 8) : forever.signal;
  return { maxRetries: call % 3 === 0 ? 0 : 4, signal };
}

function abortedWithin(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort('soaked'), ms);
  return controller.signal;
}

async function settle(work: Promise<unknown>): Promise<void> {
  counts.calls++;
  try {
    await work;
    counts.values++;
  } catch (error) {
    if (error === 'soaked') counts.aborts++;
    else if (isPetStoreError(error)) counts.failures++;
    else note(`${error}`);
  }
}

async function readStream(client: PetStoreClient, call: number): Promise<void> {
  let items = 0;
  for await (const _ of client.streamInventory(optionsOf(call))) if (++items === 20 && call % 2 === 0) break;
}

/** One of the callers. Each has its own pet, so that every update can be judged. */
async function callInTurn(
  client: PetStoreClient,
  { petId, served, until }: { petId: number; served: Served; until: number },
): Promise<Judge> {
  const quantityNow = () => served.sandbox.inventory.get(petId)?.quantity ?? Number.NaN;
  const judge = new Judge(quantityNow());
  while (counts.calls < until) {
    const call = counts.calls;
    if (call % 10 === 8) await settle(client.listInventory(optionsOf(call)));
    else if (call % 10 === 9) await settle(readStream(client, call));
    else {
      told.delete(String(petId));
      await settle(client.updateInventory(petId, { quantity: call }, optionsOf(call)));
      judge.judge(told.get(String(petId)), call, quantityNow());
    }
  }
  return judge;
}

async function callUntil(client: PetStoreClient, served: Served, until: number): Promise<string[]> {
  const callers = Array.from({ length: AT_ONCE }, (_, index) => callInTurn(client, { petId: index + 1, served, until }));
  return (await Promise.all(callers)).flatMap(({ wrong }) => wrong);
}

async function soak(): Promise<boolean> {
  const plans = { soak: { requestsPerMinute: 1_000_000_000 } };
  const served = await serveSandbox({ pets: AT_ONCE, plans, faults: FAULTS, ban: false, history: 1_000 });
  const client = new PetStoreClient({ apiKey: served.keys.soak, baseUrl: served.url, plan: 'unlimited', attemptTimeoutMs: 1_000 });
  client.on('settled', ({ petId, outcome, attempt }) => told.set(String(petId), { outcome, attempts: attempt }));
  const startedAt = performance.now();
  const warmUp = await callUntil(client, served, Math.min(WARM_UP_CALLS, CALLS / 2));
  const heapBefore = await usedHeap();
  const wrong = [...warmUp, ...(await callUntil(client, served, CALLS))];
  const seconds = (performance.now() - startedAt) / 1000;
  const heapGrowth = (await usedHeap()) - heapBefore;
  const { requests, faults } = served.sandbox.report();
  client.close();
  await served.close();
  const left = [...(await leftResources()), ...getEventListeners(forever.signal, 'abort').map(() => 'abort listener')];
  const fine = wrong.length + counts.strange + left.length === 0 && heapGrowth < MOST_HEAP_GROWTH;
  console.log({ ...counts, requests, faults, seconds: Math.round(seconds), heapGrowthKiB: Math.round(heapGrowth / 1024) });
  console.log({ wrongOutcomes: wrong.length, firstWrong: wrong.slice(0, 5), strange, left });
  return fine;
}

const fine = await soak();
console.log(fine ? 'Nothing is off' : 'Something is off');
process.exitCode = fine ? 0 : 1;
