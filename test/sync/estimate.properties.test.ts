import fc from 'fast-check';
import { PetStoreClient, planSync, syncInventory } from 'petstore-inventory';
import { createSandbox, type Sandbox } from 'petstore-inventory/sandbox';
import { afterAll, expect, test } from 'vitest';
import { FUZZ } from '../support/fuzz.ts';
import { seeded } from '../worlds/random.ts';
import { VirtualTime } from '../worlds/virtual-time.ts';

const time = new VirtualTime();
const restore = time.install();
afterAll(() => restore());

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const NOON_MS = Date.parse('2026-11-21T12:00:00Z');

const part = fc.integer({ min: 10, max: 95 }).map((percent) => percent / 100);

/** A plan, what was sent with its key before, the share of the client that does a job, and the size of the job. */
const key = fc.record({
  plan: fc
    .tuple(fc.integer({ min: 3, max: 60 }), fc.integer({ min: 2, max: 12 }))
    .map(([requestsPerMinute, minutes]) => ({ requestsPerMinute, requestsPerDay: requestsPerMinute * minutes })),
  share: fc.oneof(
    fc.constant(1),
    part,
    part.map((low) => ({ low })),
  ),
  hasOtherClient: fc.boolean(),
  ofOthers: fc.nat({ max: 3 }),
  ofClient: fc.record({ updates: fc.nat({ max: 60 }), priority: fc.constantFrom('normal' as const, 'low' as const) }),
  pets: fc.integer({ min: 1, max: 150 }),
  startsInMs: fc.nat({ max: DAY_MS / 4 }),
});

type Key = typeof key extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** Makes a plan and then does it, however long that takes. */
async function planAndSync(sandbox: Sandbox<'own'>, { plan: limits, share, hasOtherClient, ofOthers, ofClient }: Key) {
  const { baseUrl, fetch, keys } = sandbox;
  for (let sent = 0; sent < ofOthers; sent++) await fetch(`${baseUrl}/inventory`, { headers: { authorization: `Bearer ${keys.own}` } });
  const options = { apiKey: keys.own, baseUrl, fetch, plan: limits, maxWaitMs: 100 * DAY_MS };
  await using client = new PetStoreClient({ ...options, share });
  await using _other = hasOtherClient ? new PetStoreClient(options) : undefined;
  const [, ...items] = await client.listInventory();
  for (let sent = 0; sent < ofClient.updates; sent++) await client.updateInventory(1, { quantity: sent }, { priority: ofClient.priority });
  // The headers describe the minute and the day alternately, so that the list of the plan completes what the client knows.
  await client.listInventory();
  const wanted = items.map(({ petId, quantity }) => ({ petId, quantity: quantity + 1 }));
  const plan = await planSync(client, wanted);
  const startMs = Date.now();
  const { updated } = await syncInventory(client, wanted);
  const isToday = Math.floor(Date.now() / DAY_MS) === Math.floor(startMs / DAY_MS);
  return { plan, updated, tookMs: Date.now() - startMs, isToday };
}

test('planSync knows how long the job will wait, and whether today suffices, whatever was sent before and whatever the share', async () => {
  const asPlanned = fc.asyncProperty(key, async (drawn) => {
    time.begin(NOON_MS + drawn.startsInMs, seeded(1));
    const sandbox = createSandbox({ plans: { own: drawn.plan }, pets: drawn.pets + 1, limitHeaders: 'alternate', latency: 5 });
    const work = planAndSync(sandbox, drawn);
    expect(await time.run(work, { untilMs: NOON_MS + 300 * DAY_MS, mostTimers: 1_000_000 })).toBe('done');
    const { plan, updated, tookMs, isToday } = await work;
    expect(updated).toBe(drawn.pets);
    // A minute more or less: the client leaves room for others after a 429, and what it sent about when a minute turned may count in either.
    expect(Math.abs(tookMs - plan.estimatedMs)).toBeLessThan(MINUTE_MS + 5_000);
    // Undefined while no header has described the new day.
    expect(plan.fitsToday ?? isToday).toBe(isToday);
  });
  await fc.assert(asPlanned, { numRuns: FUZZ.numRuns / 5 });
});
