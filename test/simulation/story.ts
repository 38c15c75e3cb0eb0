import type { PetStoreClientOptions, WantedEntry } from 'petstore-inventory';
import { type Draw, drawing } from '../worlds/random.ts';
import type { Service } from '../worlds/world.ts';
import type { DiskSettings } from './disk.ts';

/** A part of a story's time, in milliseconds from its beginning. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface NetworkSettings {
  readonly seed: number;
  readonly latencyMs: number;
  /** Parts of the exchanges that are slow, and that break. */
  readonly tail: number;
  readonly losses: number;
  /** When nothing is carried. */
  readonly cuts: readonly Span[];
}

export interface StoreSettings {
  readonly isCheap: boolean;
  readonly processes: number | undefined;
  readonly publishes: boolean;
  readonly latencyMs: number;
  readonly stalls: readonly Span[];
  readonly emptyAtMs: readonly number[];
  readonly failovers: readonly { readonly copiedAtMs: number; readonly atMs: number }[];
}

export interface ClockSettings {
  readonly aheadMs: number;
  /** How many of its milliseconds pass in one. */
  readonly rate: number;
  /** When somebody sets it. */
  readonly steps: readonly { readonly atMs: number; readonly byMs: number }[];
}

interface Common {
  readonly id: number;
  readonly atMs: number;
  readonly abortAfterMs?: number | undefined;
}

interface CallSettings {
  readonly priority?: 'low' | undefined;
  readonly latestOnly?: boolean | undefined;
  readonly totalTimeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
  readonly maxWaitMs?: number | undefined;
}

/** What a process does. */
export type Act = Common &
  (
    | { readonly kind: 'update'; readonly petId: number; readonly options: CallSettings }
    | { readonly kind: 'list'; readonly options: CallSettings }
    | { readonly kind: 'stream'; readonly leavesAfter: number | undefined; readonly options: CallSettings }
    | { readonly kind: 'fetch'; readonly isRead: boolean; readonly options: CallSettings }
    | { readonly kind: 'get'; readonly petId: number; readonly maxAgeMs: number | undefined }
    | { readonly kind: 'items' }
    | { readonly kind: 'changes'; readonly maxAgeMs: number }
    | { readonly kind: 'close' }
    | { readonly kind: 'refresh' }
    | { readonly kind: 'adjust'; readonly petId: number; readonly delta: number }
    | { readonly kind: 'job'; readonly wanted: readonly WantedEntry[]; readonly concurrency: number }
  );

export interface ProcessSettings {
  readonly name: string;
  readonly clock: ClockSettings;
  readonly disk: DiskSettings;
  readonly client: Pick<
    PetStoreClientOptions,
    'plan' | 'maxRetries' | 'attemptTimeoutMs' | 'maxWaitMs' | 'concurrency' | 'share' | 'latestOnly' | 'totalTimeoutMs'
  >;
  readonly view: { readonly maxAgeMs: number | 'quota'; readonly maxStaleMs: number };
  /** Its key is a function, which takes so long, and first gives a key that has been replaced. */
  readonly renewal?: { readonly takesMs: number } | undefined;
  /** It is killed at these instants, or the power of its machine fails, and it comes back. */
  readonly crashes: readonly { readonly atMs: number; readonly backAfterMs: number; readonly isPower: boolean }[];
  /** Its first lives end at these steps, counted from 1: a request or an answer, or what a file is asked to do. */
  readonly deaths?: readonly { readonly atStep: number; readonly isPower: boolean }[];
  readonly acts: readonly Act[];
}

/** Everything that a run depends on. */
export interface Story {
  readonly seed: number;
  readonly startsAtMs: number;
  readonly perMinute: number;
  readonly perDay?: number | undefined;
  readonly service: Service & { readonly latency?: number };
  /** When every request is answered with this status, or refused for one of so many seconds. */
  readonly outages: readonly (Span & { readonly status: number; readonly retryAfter?: readonly number[] | undefined })[];
  /** Pets whose updates the service refuses for good. */
  readonly failing: readonly number[];
  readonly network: NetworkSettings;
  readonly store: StoreSettings | undefined;
  readonly processes: readonly ProcessSettings[];
}

const MIDNIGHT_MS = Date.UTC(2026, 10, 22);
const MINUTE_MS = 60_000;
/** Pets that any process may update; then those of adjustments, one for each process; then those of jobs. */
export const SHARED_PETS = 4;
const FIRST_ADJUSTED = 11;
const FIRST_OF_JOBS = 21;
const PETS_OF_A_JOB = 6;
export const PETS = 200;
/** The sum of so many deltas tells which of them were applied. */
const MOST_ADJUSTMENTS = 40;

/** The story of a seed. */
export function drawStory(seed: number): Story {
  const draw = drawing(seed);
  const lengthMs = draw.log(2_000, 4 * MINUTE_MS);
  const processes = draw.chance(0.4) ? 1 : draw.whole(2, draw.chance(0.2) ? 8 : 3);
  const isRough = draw.chance(0.7);
  const perMinute = draw.log(4, 400);
  const ids = { next: 0, jobs: 0 };
  return withRarities({
    seed,
    startsAtMs: MIDNIGHT_MS - draw.whole(10 * MINUTE_MS, 20 * 60 * MINUTE_MS),
    perMinute,
    service: drawService(draw, isRough),
    outages: isRough && draw.chance(0.4) ? spans(draw, { lengthMs, most: 2 }).map((span) => drawOutage(draw, span)) : [],
    failing: draw.chance(0.3) ? [FIRST_OF_JOBS + draw.whole(0, PETS_OF_A_JOB)] : [],
    network: drawNetwork(draw, { seed, isRough, lengthMs }),
    store: processes > 1 && draw.chance(0.7) ? drawStore(draw, { lengthMs, processes }) : undefined,
    processes: Array.from({ length: processes }, (_, index) => drawProcess(draw, { index, lengthMs, isRough, perMinute, ids })),
  });
}

/**
 * What happens in few stories: days that run out, keys that are replaced, clients that are closed, consumers of changes, and updates of a pet
 * while a list is under way.
 */
function withRarities(story: Story): Story {
  const draw = drawing(story.seed ^ 0x5eed);
  const perDay = draw.chance(0.15) ? draw.log(30, 300) : undefined;
  const ids = { next: 1 + story.processes.reduce((most, { acts }) => acts.reduce((id, act) => Math.max(id, act.id), most), 0) };
  const ofRaces = drawing(story.seed ^ 0x11_57);
  const processes = story.processes.map((process) => withRace(ofRaces, { process: withRareActs(draw, { process, perDay, ids }), ids }));
  return { ...story, perDay, processes };
}

/** The pet is read afterwards, from what the view holds. */
function withRace(draw: Draw, { process, ids }: { process: ProcessSettings; ids: { next: number } }): ProcessSettings {
  if (!draw.chance(0.1)) return process;
  const atMs = draw.whole(0, process.acts.at(-1)?.atMs ?? 0);
  const petId = draw.whole(1, SHARED_PETS);
  const race: Act[] = [
    { id: ids.next++, atMs, kind: 'refresh' },
    { id: ids.next++, atMs: atMs + draw.log(1, 100), kind: 'update', petId, options: {} },
    { id: ids.next++, atMs: atMs + draw.log(100, 3_000), kind: 'get', petId, maxAgeMs: MINUTE_MS },
  ];
  return { ...process, acts: [...process.acts, ...race].sort((a, b) => a.atMs - b.atMs) };
}

function withRareActs(
  draw: Draw,
  { process, perDay, ids }: { process: ProcessSettings; perDay: number | undefined; ids: { next: number } },
): ProcessSettings {
  const lengthMs = process.acts.at(-1)?.atMs ?? 0;
  const rare: Act[] = [];
  const common = () => ({ id: ids.next++, atMs: draw.whole(0, lengthMs) });
  if (draw.chance(0.2))
    rare.push({ ...common(), kind: 'changes', maxAgeMs: draw.of(500, 2_000, 5_000), abortAfterMs: draw.log(10, 30_000) });
  if (draw.chance(0.07)) rare.push({ ...common(), kind: 'close' });
  const { plan } = process.client;
  const limits = typeof plan === 'object' && perDay !== undefined ? { ...plan, requestsPerDay: perDay } : plan;
  return {
    ...process,
    client: { ...process.client, ...(limits !== undefined && { plan: limits }) },
    ...(draw.chance(0.1) && { renewal: { takesMs: draw.of(0, draw.log(1, 500)) } }),
    acts: [...process.acts, ...rare].sort((a, b) => a.atMs - b.atMs),
  };
}

function drawService(draw: Draw, isRough: boolean): Story['service'] {
  const plain: Story['service'] = {
    policy: draw.of('fixed-clock', 'fixed-clock', 'fixed-first', 'sliding-log', 'sliding-counter', 'token-bucket'),
    ban: false,
  };
  if (!isRough) return plain;
  return {
    ...plain,
    latency: draw.log(1, 300),
    ...(draw.chance(0.2) && { retryAfter: draw.of<NonNullable<Service['retryAfter']>>('decimal', 'short', 'missing', 'date') }),
    ...(draw.chance(0.1) && { nodes: [0, draw.whole(-3_000, 3_000)], retryAfter: 'seconds' as const }),
    ...(draw.chance(0.2) && {
      limitHeaders: draw.of<NonNullable<Service['limitHeaders']>>(
        { rate: 0 },
        { rate: 0.5 },
        { lagMs: 200 },
        { omit: ['reset'] },
        { reset: 'seconds-to-go' },
      ),
    }),
    ...(draw.chance(0.15) && { counting: draw.of<NonNullable<Service['counting']>>({ at: 'completion' }, { refused: true }) }),
    ...(draw.chance(0.3) && { faults: [{ rate: draw.part(0.01, 0.2), status: draw.of(500, 502, 503, 408, 400) }] }),
    ...(draw.chance(0.1) && { ban: { after: 10, forMs: 120_000 } }),
  };
}

function drawOutage(draw: Draw, span: Span): Story['outages'][number] {
  return draw.chance(0.3)
    ? { ...span, status: 503, retryAfter: [draw.whole(1, 40), draw.whole(1, 40)] }
    : { ...span, status: draw.of(500, 503, 504) };
}

function drawNetwork(draw: Draw, { seed, isRough, lengthMs }: { seed: number; isRough: boolean; lengthMs: number }): NetworkSettings {
  const latencyMs = draw.log(2, 300);
  if (!isRough) return { seed, latencyMs, tail: 0, losses: 0, cuts: [] };
  return {
    seed,
    latencyMs,
    tail: draw.chance(0.5) ? draw.part(0.01, 0.3) : 0,
    losses: draw.chance(0.6) ? draw.part(0.01, 0.3) : 0,
    cuts: draw.chance(0.2) ? spans(draw, { lengthMs, most: 2 }) : [],
  };
}

function drawStore(draw: Draw, { lengthMs, processes }: { lengthMs: number; processes: number }): StoreSettings {
  const instants = (chance: number) => (draw.chance(chance) ? [draw.whole(0, lengthMs)] : []);
  return {
    isCheap: draw.chance(0.3),
    processes: draw.chance(0.5) ? processes : undefined,
    publishes: draw.chance(0.5),
    latencyMs: draw.log(1, 60),
    stalls: draw.chance(0.3) ? spans(draw, { lengthMs, most: 2 }) : [],
    emptyAtMs: instants(0.25),
    failovers: instants(0.2).map((atMs) => ({ copiedAtMs: Math.floor(atMs * draw.part(0.2, 0.9)), atMs })),
  };
}

interface ProcessWorld {
  index: number;
  lengthMs: number;
  isRough: boolean;
  perMinute: number;
  ids: { next: number; jobs: number };
}

function drawProcess(draw: Draw, world: ProcessWorld): ProcessSettings {
  const { index, lengthMs, isRough, perMinute } = world;
  const isOff = draw.chance(0.3);
  const acts = Array.from({ length: draw.log(1, 16) }, () => drawActs(draw, world)).flat();
  return {
    name: `p${index + 1}`,
    clock: {
      aheadMs: isOff ? draw.whole(-90_000, 90_000) : 0,
      rate: draw.chance(0.2) ? 1 + draw.whole(-4, 4) / 10_000 : 1,
      steps: draw.chance(0.15) ? [{ atMs: draw.whole(0, lengthMs), byMs: draw.whole(-120_000, 120_000) }] : [],
    },
    disk: {
      writeMs: draw.of(0, 1, 20),
      flushMs: draw.of(0, 5, 200),
      full: draw.chance(0.1) ? spans(draw, { lengthMs, most: 1 })[0] : undefined,
    },
    client: drawClient(draw, { perMinute }),
    view: { maxAgeMs: draw.of<number | 'quota'>('quota', 0, 500, 5_000), maxStaleMs: draw.of(0, 10_000, 60_000) },
    crashes: isRough && draw.chance(0.35) ? drawCrashes(draw, lengthMs) : [],
    acts: withDeltas(acts.sort((a, b) => a.atMs - b.atMs)),
  };
}

/** Each adjustment by another power of two. */
function withDeltas(acts: readonly Act[]): Act[] {
  let adjustments = 0;
  const given = acts.map((act) => (act.kind === 'adjust' ? { ...act, delta: 2 ** adjustments++ } : act));
  return given.filter((act) => act.kind !== 'adjust' || act.delta < 2 ** MOST_ADJUSTMENTS);
}

function drawCrashes(draw: Draw, lengthMs: number): ProcessSettings['crashes'] {
  const first = { atMs: draw.log(1, lengthMs), backAfterMs: draw.log(1, 60_000), isPower: draw.chance(0.4) };
  if (draw.chance(0.6)) return [first];
  return [
    first,
    { atMs: first.atMs + first.backAfterMs + draw.log(1, 30_000), backAfterMs: draw.log(1, 20_000), isPower: draw.chance(0.4) },
  ];
}

function drawClient(draw: Draw, { perMinute }: { perMinute: number }): ProcessSettings['client'] {
  return {
    ...(draw.chance(0.6) && { plan: { requestsPerMinute: perMinute } }),
    ...(draw.chance(0.4) && { maxRetries: draw.whole(0, 8) }),
    ...(draw.chance(0.5) && { attemptTimeoutMs: draw.log(200, 30_000) }),
    ...(draw.chance(0.3) && { maxWaitMs: draw.log(1_000, 600_000) }),
    ...(draw.chance(0.4) && { concurrency: draw.whole(1, 4) }),
    ...(draw.chance(0.15) && { share: draw.part(0.2, 0.9) }),
    ...(draw.chance(0.2) && { latestOnly: true }),
  };
}

function drawActs(draw: Draw, { index, lengthMs, ids }: ProcessWorld): Act[] {
  const atMs = draw.chance(0.4) ? 0 : draw.whole(0, lengthMs);
  const common = (): Common => ({
    id: ++ids.next,
    atMs,
    ...(draw.chance(0.15) && { abortAfterMs: draw.of(0, draw.log(1, 60_000)) }),
  });
  const adjusted = FIRST_ADJUSTED + index;
  const kinds: (() => Act[])[] = [
    () =>
      Array.from({ length: draw.log(1, 8) }, () => ({
        ...common(),
        kind: 'update',
        petId: draw.whole(1, SHARED_PETS),
        options: drawOptions(draw),
      })),
    () => [{ ...common(), kind: 'update', petId: draw.of(1, 2, 3, PETS + 5), options: drawOptions(draw) }],
    () => [{ ...common(), kind: 'list', options: drawOptions(draw) }],
    () => [{ ...common(), kind: 'stream', leavesAfter: draw.chance(0.5) ? draw.whole(0, 50) : undefined, options: drawOptions(draw) }],
    () => [{ ...common(), kind: 'fetch', isRead: draw.chance(0.7), options: drawOptions(draw) }],
    () => [{ ...common(), kind: 'get', petId: draw.of(1, 2, adjusted), maxAgeMs: draw.chance(0.4) ? undefined : draw.of(0, 1_000) }],
    () => [{ ...common(), kind: draw.of('items', 'refresh') }],
    () => Array.from({ length: draw.log(1, 5) }, () => ({ ...common(), kind: 'adjust', petId: adjusted, delta: 0 })),
    () => [{ ...common(), kind: 'job', wanted: drawWanted(draw, ids), concurrency: draw.of(1, 2, 16) }],
  ];
  return draw.of(...kinds)();
}

function drawOptions(draw: Draw): CallSettings {
  return {
    ...(draw.chance(0.2) && { priority: 'low' as const }),
    ...(draw.chance(0.2) && { latestOnly: draw.chance(0.8) }),
    ...(draw.chance(0.15) && { totalTimeoutMs: draw.log(10, 90_000) }),
    ...(draw.chance(0.1) && { maxRetries: draw.whole(0, 3) }),
    ...(draw.chance(0.15) && { maxWaitMs: draw.log(1, 120_000) }),
  };
}

/** Absolute and relative entries of pets that no other job has, one of them missing. */
function drawWanted(draw: Draw, ids: { jobs: number }): WantedEntry[] {
  const first = FIRST_OF_JOBS + PETS_OF_A_JOB * ids.jobs++;
  return Array.from({ length: draw.whole(1, 8) }, () => {
    const petId = draw.chance(0.1) ? 1_000 + first : first + draw.whole(0, PETS_OF_A_JOB - 1);
    return draw.chance(0.5) ? { petId, quantity: draw.whole(0, 50) } : { petId, adjust: draw.whole(-5, 5) };
  });
}

function spans(draw: Draw, { lengthMs, most }: { lengthMs: number; most: number }): Span[] {
  return Array.from({ length: draw.whole(1, most) }, () => {
    const fromMs = draw.whole(0, lengthMs);
    return { fromMs, toMs: fromMs + draw.log(100, 90_000) };
  });
}

/** A story as a run prints it. */
export function readStory(text: string): Story {
  return JSON.parse(text);
}
