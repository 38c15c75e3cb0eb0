import fc from 'fast-check';
import { type ClientEvents, PetStoreClient, type RequestOptions } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { expect, test, vi } from 'vitest';
import { FUZZ } from '../support/fuzz.ts';
import { holdTime } from '../support/time.ts';

holdTime();

/** One update, and how long after it the next one is made. */
interface Step {
  petId: number;
  options: Omit<RequestOptions, 'signal'>;
  abortAfterMs: number | undefined;
  pauseMs: number;
}

const sometimes = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

const step: fc.Arbitrary<Step> = fc.record({
  petId: fc.integer({ min: 1, max: 3 }),
  options: fc.record({
    latestOnly: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    priority: fc.constantFrom('normal', 'low'),
    maxRetries: fc.integer({ min: 0, max: 2 }),
    maxWaitMs: sometimes(fc.constantFrom(0, 500, 5_000)),
    totalTimeoutMs: sometimes(fc.integer({ min: 1, max: 3_000 })),
  }),
  abortAfterMs: sometimes(fc.integer({ min: 0, max: 2_000 })),
  pauseMs: fc.constantFrom(0, 0, 0, 1, 40, 700),
});

const world = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 40 }),
  seed: fc.integer({ min: 1, max: 1_000 }),
  failing: fc.constantFrom(0, 0.2),
  closes: fc.boolean(),
});

/** What is known of one update when all is over. */
interface Told {
  step: Step;
  callId: number;
  startedAtMs: number;
  firstSentAtMs: number | undefined;
  settled: ClientEvents['settled'][];
  end: { quantity: number; supersededBy: number | undefined; attempts: number } | { error: unknown };
}

const faultsOf = (failing: number, closes: boolean) => [
  ...(closes ? [{ at: 1, status: 429, headers: { 'retry-after': '3' } }] : []),
  { rate: failing, status: 500 },
  { rate: failing, fail: 'lost' as const },
  { rate: failing / 2, status: 429, headers: { 'retry-after': '1' } },
  { rate: failing / 2, status: 404 },
];

/** Makes the updates in virtual time; the quantity of each is the number of its call. */
async function play({ steps, seed, failing, closes }: typeof world extends fc.Arbitrary<infer World> ? World : never) {
  const sandbox = createSandbox({ pets: 3, seed, latency: 30, ban: false, faults: faultsOf(failing, closes) });
  const client = new PetStoreClient({ apiKey: sandbox.keys.business, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, plan: 'business' });
  const sentAtMs = new Map<number, number>();
  const settled = new Map<number, ClientEvents['settled'][]>();
  const sent: { petId: unknown; callId: number }[] = [];
  client.on('request', ({ callId, petId }) => sent.push({ callId, petId }));
  client.on('request', ({ callId }) => sentAtMs.set(callId, sentAtMs.get(callId) ?? Date.now()));
  client.on('settled', (event) => settled.set(event.callId, [...(settled.get(event.callId) ?? []), event]));
  const ends: Promise<Told['end']>[] = [];
  const startedAtMs: number[] = [];
  for (const [index, { petId, options, abortAfterMs, pauseMs }] of steps.entries()) {
    const controller = new AbortController();
    startedAtMs.push(Date.now());
    const update = client.updateInventory(petId, { quantity: index + 1 }, { ...options, signal: controller.signal }).withResponse();
    ends.push(
      update.then(
        ({ data, supersededBy, attempts }) => ({ quantity: data.quantity, supersededBy, attempts }),
        (error) => ({ error }),
      ),
    );
    if (abortAfterMs !== undefined) setTimeout(() => controller.abort(), abortAfterMs);
    if (pauseMs > 0) await vi.advanceTimersByTimeAsync(pauseMs);
  }
  await vi.runAllTimersAsync();
  const told = steps.map(async (one, index): Promise<Told> => {
    const callId = index + 1;
    const [end] = await Promise.all([ends[index] ?? { error: 'none' }]);
    return {
      step: one,
      callId,
      startedAtMs: startedAtMs[index] ?? 0,
      firstSentAtMs: sentAtMs.get(callId),
      settled: settled.get(callId) ?? [],
      end,
    };
  });
  return { sandbox, sent, calls: await Promise.all(told) };
}

const outcomeOf = ({ settled }: Told) => settled[0]?.outcome;
const supersederOf = ({ settled }: Told) => settled[0]?.supersededBy;

test('latestOnly in random worlds: all updates settle once, in order, and superseded ones are never sent and end as a later one', async () => {
  let superseded = 0;
  const property = fc.asyncProperty(world, async (drawn) => {
    const { sandbox, sent, calls } = await play(drawn);
    const byId = new Map(calls.map((call) => [call.callId, call]));
    expect(calls.map(({ settled }) => settled.length)).toEqual(calls.map(() => 1));

    for (const call of calls.filter((one) => outcomeOf(one) === 'superseded')) {
      superseded += 1;
      const later = byId.get(supersederOf(call) ?? 0);
      expect(call).toMatchObject({ firstSentAtMs: undefined, step: { options: { latestOnly: true } } });
      expect(later?.callId).toBeGreaterThan(call.callId);
      expect(later?.step.petId).toBe(call.step.petId);
      expect(later?.firstSentAtMs).toBeDefined();
      if ('error' in call.end) expect(later?.end).toEqual({ error: call.end.error });
      else
        expect([call.end, later?.end]).toMatchObject([
          { quantity: later?.callId, supersededBy: later?.callId, attempts: 0 },
          { quantity: later?.callId },
        ]);
    }

    for (const petId of [1, 2, 3]) {
      const ofPet = calls.filter(({ step: { petId: id } }) => id === petId);
      const requested = sent.filter((request) => request.petId === petId).map(({ callId }) => callId);
      expect(requested).toEqual(inOrder(requested));
      const heard = sandbox.requests.flatMap((request) => (request.petId === BigInt(petId) ? (request.quantity ?? []) : []));
      expect(heard).toEqual(inOrder(heard));
      // The last that was sent is the last that did not end unsent.
      const wanted = ofPet.filter((one) => outcomeOf(one) !== 'not-sent' || one.firstSentAtMs !== undefined);
      expect(requested.at(-1)).toBe(wanted.at(-1)?.callId);
      // No update with `latestOnly` is sent while a later one waits.
      for (const { callId, firstSentAtMs = 0, step: own } of ofPet.filter(
        (one) => one.firstSentAtMs !== undefined && one.step.options.latestOnly,
      )) {
        const waiting = ofPet.filter((one) => one.callId > callId && one.startedAtMs < firstSentAtMs && endedAtMs(one) > firstSentAtMs);
        expect([own, waiting]).toEqual([own, []]);
      }
    }
  });
  const numRuns = Math.max(60, FUZZ.numRuns / 5);
  await fc.assert(property, { ...FUZZ, numRuns });
  expect(superseded).toBeGreaterThan(numRuns / 4);
});

function inOrder(numbers: readonly number[]): number[] {
  return numbers.toSorted((one, other) => one - other);
}

function endedAtMs({ settled, startedAtMs }: Told): number {
  return startedAtMs + (settled[0]?.ms ?? 0);
}
