import { type Draw, drawing } from './random.ts';
import { type ClientSettings, limitsOf, type Service, type World } from './world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MIDNIGHT_MS = Date.UTC(2026, 10, 22);

/** Draws the world of a seed: a third of them is ordinary, the others have one to three oddities. */
export function drawWorld(seed: number): World {
  const draw = drawing(seed);
  const plan = drawPlan(draw);
  const calls = draw.log(4, Math.min(160, 3 * plan.requestsPerMinute + 20));
  const world: World = {
    seed,
    odd: [],
    plan,
    startsAtMs: MIDNIGHT_MS - draw.whole(10 * MINUTE_MS, DAY_MS),
    clientAheadMs: 0,
    service: drawService(draw),
    spent: draw.chance(0.2) ? draw.whole(1, plan.requestsPerMinute) : 0,
    load: drawLoad(draw, { calls, perMinute: plan.requestsPerMinute }),
    clients: draw.chance(0.15) ? 2 : 1,
    aborted: draw.chance(0.15) ? draw.part(0.05, 0.4) : 0,
    low: draw.chance(0.2) ? draw.part(0.2, 0.8) : 0,
    lists: draw.chance(0.2) ? 0.1 : 0,
    missing: draw.chance(0.1) ? draw.part(0.1, 0.4) : 0,
    client: drawClient(draw, plan),
  };
  const oddities = draw.chance(1 / 3) ? 0 : draw.of(1, 1, 1, 2, 2, 3);
  return Array.from({ length: oddities }).reduce<World>((odd) => addOddity(odd, draw), world);
}

function drawPlan(draw: Draw): World['plan'] {
  const named = draw.of({ requestsPerMinute: 60, requestsPerDay: 1_000 }, { requestsPerMinute: 300, requestsPerDay: 10_000 });
  return draw.chance(0.5) ? named : { requestsPerMinute: draw.log(1, 600) };
}

function drawService(draw: Draw): Service {
  const medianMs = draw.log(10, 500);
  return {
    policy: draw.of('fixed-clock', 'fixed-clock', 'fixed-first', 'sliding-log', 'sliding-counter', 'token-bucket'),
    latency: draw.of<NonNullable<Service['latency']>>(
      medianMs,
      { fromMs: medianMs, toMs: 3 * medianMs },
      { medianMs, p99Ms: 8 * medianMs },
    ),
    retryAfter: draw.of('seconds', 'seconds', 'date'),
  };
}

function drawLoad(draw: Draw, { calls, perMinute }: { calls: number; perMinute: number }): World['load'] {
  const evenMs = MINUTE_MS / perMinute;
  return draw.of<() => World['load']>(
    () => ({ kind: 'burst', calls }),
    () => ({ kind: 'loop', calls, workers: draw.log(1, 50) }),
    () => ({ kind: 'steady', calls, everyMs: Math.ceil(evenMs * draw.of(0.3, 0.7, 0.95, 1, 1.05, 2)) }),
    () => ({ kind: 'bursts', calls, bursts: draw.whole(2, 5), pauseMs: draw.log(3_000, 150_000) }),
  )();
}

function drawClient(draw: Draw, plan: World['plan']): ClientSettings {
  return {
    plan: draw.chance(0.6) ? limitsOf(plan) : undefined,
    concurrency: draw.chance(0.2) ? draw.log(1, 200) : undefined,
    share: draw.chance(0.1) ? draw.part(0.2, 0.9) : undefined,
    maxWaitMs: draw.of(120_000, 3_600_000, 3_600_000),
  };
}

/** What real services, networks and users do beside what is promised. */
const ODDITIES: Record<string, (world: World, draw: Draw) => Partial<World>> = {
  'plan too large': ({ plan: { requestsPerMinute } }, draw) => ({
    client: { maxWaitMs: 3_600_000, plan: { requestsPerMinute: Math.ceil(requestsPerMinute * draw.part(1.2, 10)) } },
  }),
  'plan too small': ({ plan: { requestsPerMinute } }, draw) => ({
    client: { maxWaitMs: 3_600_000, plan: { requestsPerMinute: Math.ceil(requestsPerMinute / draw.part(1.2, 5)) } },
  }),
  'no plan': () => ({ client: { maxWaitMs: 3_600_000, plan: 'unlimited' } }),
  burst: ({ plan, service }, draw) => {
    const burst = Math.max(1, Math.round(plan.requestsPerMinute * draw.part(0.05, 2)));
    return { service: { ...service, policy: 'token-bucket', burst, limitHeaders: { limit: draw.of('plan', 'burst') } } };
  },
  'clock apart': (_world, draw) => ({ clientAheadMs: draw.whole(-DAY_MS, DAY_MS) }),
  'clock slightly apart': (_world, draw) => ({ clientAheadMs: draw.whole(-5_000, 5_000) }),
  'end of day': (_world, draw) => ({ startsAtMs: MIDNIGHT_MS - draw.whole(1_000, 3 * MINUTE_MS) }),
  'day nearly spent': ({ plan, load }, draw) => ({
    plan: { ...plan, requestsPerDay: Math.max(1, Math.round(load.calls * draw.part(0.3, 0.9))) },
  }),
  'other user': ({ plan: { requestsPerMinute } }, draw) => ({
    other: { perMinute: requestsPerMinute * draw.part(0.1, 0.8), atOnce: draw.of(1, 1, 5) },
  }),
  'some failures': ({ service }, draw) => ({
    service: { ...service, faults: [{ rate: draw.part(0.01, 0.08), status: draw.of(500, 502, 503) }] },
  }),
  'lost connections': ({ service }, draw) => ({
    service: { ...service, faults: [{ rate: draw.part(0.01, 0.05), fail: draw.of('reset', 'lost', 'cut') }] },
  }),
  outage: ({ service, load }, draw) => {
    const first = draw.whole(1, load.calls);
    return {
      service: { ...service, faults: [{ at: Array.from({ length: draw.whole(3, 8) }, (_, index) => first + index), status: 503 }] },
    };
  },
  'counts at completion': ({ service }) => ({ service: { ...service, counting: { at: 'completion' } } }),
  'counts refusals': ({ service }) => ({ service: { ...service, counting: { refused: true } } }),
  'free failures': ({ service }) => ({ service: { ...service, counting: { uncounted: [404] } }, missing: 0.3 }),
  'partial headers': ({ service }, draw) => ({ service: { ...service, limitHeaders: { rate: draw.part(0.1, 0.9) } } }),
  'no headers': ({ service }) => ({ service: { ...service, limitHeaders: { rate: 0 } } }),
  'a header missing': ({ service }, draw) => ({
    service: { ...service, limitHeaders: { omit: [draw.of<'limit' | 'remaining' | 'reset'>('limit', 'remaining', 'reset')] } },
  }),
  'late Remaining': ({ service }, draw) => ({ service: { ...service, limitHeaders: { lagMs: draw.whole(50, 500) } } }),
  'other Reset': ({ service }, draw) => ({
    service: { ...service, limitHeaders: { reset: draw.of('seconds', 'milliseconds', 'seconds-to-go'), rounding: draw.of('up', 'down') } },
  }),
  'other window': ({ service }, draw) => ({ service: { ...service, limitHeaders: { window: draw.of('day', 'tightest', 'alternate') } } }),
  nodes: ({ service }, draw) => ({ service: { ...service, retryAfter: 'seconds', nodes: [0, draw.whole(-3_000, 3_000)] } }),
  'no Date': ({ service }) => ({ service: { ...service, retryAfter: 'seconds', date: false } }),
  'Date off': ({ service }, draw) => ({ service: { ...service, retryAfter: 'seconds', date: { aheadMs: draw.whole(-3_000, 3_000) } } }),
  'other Retry-After': ({ service }, draw) => ({ service: { ...service, retryAfter: draw.of('decimal', 'short', 'missing') } }),
};

function addOddity(world: World, draw: Draw): World {
  const name = draw.of(...Object.keys(ODDITIES));
  const change = ODDITIES[name]?.(world, draw);
  return world.odd.includes(name) ? world : { ...world, ...change, odd: [...world.odd, name] };
}
