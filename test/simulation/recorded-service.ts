import type { PlanLimits } from '../../src/contract/plans.ts';
import { Meter } from '../../src/sandbox/meter.ts';
import { POLICIES, type Policy } from '../../src/sandbox/windows.ts';
import type { VirtualTime } from '../worlds/virtual-time.ts';
import type { RecordedCall, RecordedRequest, Recording } from './recording.ts';

/** The header by which a request of the replay tells whose it is. */
export const CALL_HEADER = 'x-recorded-call';

/** A Reset so far ahead is the minute's; whole seconds and clocks leave some room. */
const MINUTE_AHEAD_MS = 62_000;
/** So many failures in a row are an outage; fewer hit one request each. */
const OUTAGE = 3;
const RESET_TOLERANCE_MS = 2_000;
/** What one answer weighs that a way of counting cannot explain at all, beside one more request of others. */
const UNEXPLAINED = 10;
const USUAL_LATENCY_MS = 50;

/** Requests of others on the key. */
interface Others {
  readonly atMs: number;
  readonly count: number;
}

/** How the service seems to count, as far as a recording shows. */
export interface Counted {
  /** Undefined where no limit was met or told. */
  readonly plan: PlanLimits | undefined;
  readonly policy: Policy;
  readonly others: readonly Others[];
}

/** Requests in a time in which none of a kind succeeds. */
interface Outage {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly failures: readonly RecordedRequest[];
}

/** A service that does what the recorded one did: counts, fails and takes its time likewise, whoever asks and when. */
export class RecordedService {
  readonly counted: Counted;
  readonly #recording: Recording;
  readonly #time: VirtualTime;
  readonly #meter: Meter | undefined;
  readonly #aheadMs: number;
  readonly #others: Others[];
  readonly #outages: readonly Outage[];
  readonly #failures: RecordedRequest[];
  readonly #closed: readonly RecordedRequest[];
  readonly #calls: ReadonlyMap<string, RecordedCall>;
  #answers = 0;

  constructor(recording: Recording, time: VirtualTime) {
    const failures = failuresOf(recording.requests);
    this.#recording = recording;
    this.#time = time;
    this.#aheadMs = clockAheadMs(recording.requests);
    this.counted = recognise(recording, this.#aheadMs);
    this.#meter = this.counted.plan && meterOf(this.counted.plan, this.counted.policy);
    this.#others = [...this.counted.others];
    this.#outages = failures.outages;
    this.#failures = failures.single;
    this.#closed = recording.requests.filter(isClosing);
    this.#calls = new Map(recording.calls.map((call) => [String(call.number), call]));
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const { method, headers, signal } = new Request(input, init);
    const sentAtMs = this.#time.nowMs;
    const latencyMs = this.#latencyMs(sentAtMs);
    const call = this.#calls.get(headers.get(CALL_HEADER) ?? '');
    const answer = async () => {
      if (latencyMs >= 2) await this.#time.wait(latencyMs / 2);
      const response = this.#answer(call, method);
      if (latencyMs >= 2) await this.#time.wait(latencyMs / 2);
      return response ?? new Promise<never>(() => {});
    };
    return untilAborted(answer(), signal);
  };

  /** Undefined where none comes. @throws TypeError where the connection breaks */
  #answer(call: RecordedCall | undefined, method: string): Response | undefined {
    const nowMs = this.#time.nowMs + this.#aheadMs;
    this.#countOthers(nowMs);
    const failure = this.#failureAt(this.#time.nowMs);
    if (failure) return this.#fail(failure, nowMs);
    const verdict = this.#meter?.judge(nowMs);
    const waitMs = this.#closedMs(this.#time.nowMs) ?? (verdict?.kind === 'limited' ? verdict.untilMs - nowMs : undefined);
    if (waitMs !== undefined) return this.#respond({ status: 429, body: '', nowMs, waitMs });
    const status = ownStatusOf(call) ?? 200;
    return this.#respond({ status, body: status === 200 ? bodyFor(call, method) : '', nowMs });
  }

  #respond({ status, body, nowMs, waitMs }: { status: number; body: string; nowMs: number; waitMs?: number | undefined }): Response {
    const headers = new Headers({ 'content-type': 'application/json' });
    const { requests } = this.#recording;
    if (requests.some(({ dateMs }) => dateMs !== undefined)) headers.set('date', new Date(nowMs).toUTCString());
    if (this.#meter && requests.some(({ rateLimit }) => rateLimit)) {
      this.#answers += 1;
      const { limit, remaining, resetAtMs } = this.#meter.told(nowMs, this.#answers);
      headers.set('x-ratelimit-limit', String(limit));
      headers.set('x-ratelimit-remaining', String(remaining));
      headers.set('x-ratelimit-reset', String(Math.ceil(resetAtMs / 1_000)));
    }
    const tellsWait = waitMs !== undefined && requests.some(({ retryAfterMs }) => retryAfterMs !== undefined);
    if (tellsWait) headers.set('retry-after', String(Math.ceil(waitMs / 1_000)));
    return new Response(body, { status, headers });
  }

  #countOthers(nowMs: number): void {
    while (this.#others[0] && this.#others[0].atMs <= nowMs) {
      const { atMs, count } = this.#others.shift() ?? { atMs: nowMs, count: 0 };
      for (let other = 0; other < count; other++) this.#meter?.judge(atMs);
    }
  }

  /** An outage hits every request, a single failure the first one after it. */
  #failureAt(nowMs: number): RecordedRequest | undefined {
    const outage = this.#outages.find(({ fromMs, untilMs }) => nowMs >= fromMs && nowMs <= untilMs);
    if (outage) return outage.failures.findLast(({ atMs }) => atMs <= nowMs) ?? outage.failures[0];
    return (this.#failures[0]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs ? this.#failures.shift() : undefined;
  }

  #fail({ status, kind, retryAfterMs }: RecordedRequest, nowMs: number): Response | undefined {
    if (status !== undefined) return this.#respond({ status, body: '', nowMs, waitMs: retryAfterMs });
    if (kind === 'timeout') return undefined;
    throw new TypeError('fetch failed', { cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }) });
  }

  /** What is left of a wait that no minute explains: the day's end, or a ban. */
  #closedMs(nowMs: number): number | undefined {
    const last = this.#closed.findLast(({ atMs }) => atMs <= nowMs);
    const untilMs = last && last.atMs + (last.ms ?? 0) + (last.retryAfterMs ?? 0);
    return untilMs !== undefined && untilMs > nowMs ? untilMs - nowMs : undefined;
  }

  #latencyMs(nowMs: number): number {
    const answered = this.#recording.requests.filter(({ status }) => status !== undefined);
    return (answered.findLast(({ atMs }) => atMs <= nowMs) ?? answered[0])?.ms ?? USUAL_LATENCY_MS;
  }
}

/** A wait of a 429 that is longer than a minute. */
function isClosing({ status, retryAfterMs = 0 }: RecordedRequest): boolean {
  return status === 429 && retryAfterMs > MINUTE_AHEAD_MS;
}

/** What has to do with the call alone, such as a pet that is missing, comes again for that call. */
function ownStatusOf(call: RecordedCall | undefined): number | undefined {
  const status = call?.requests.at(-1)?.status ?? 200;
  return status >= 300 && status < 500 && ![408, 425, 429].includes(status) ? status : undefined;
}

function bodyFor(call: RecordedCall | undefined, method: string): string {
  const item = { petId: petIdOf(call), quantity: 1, status: 'available' };
  return JSON.stringify(method === 'PATCH' ? item : [item]);
}

/** Which pet an update of the replay is of. */
export function petIdOf(call: RecordedCall | undefined): number {
  return call?.pet ?? 1;
}

/** Whether the service or the network failed. */
function isFailure({ status, kind }: RecordedRequest): boolean {
  if (status === undefined) return kind === 'connection' || kind === 'timeout';
  return status >= 500 || status === 408 || status === 425;
}

function failuresOf(requests: readonly RecordedRequest[]): { outages: Outage[]; single: RecordedRequest[] } {
  const outages: Outage[] = [];
  const single: RecordedRequest[] = [];
  let row: RecordedRequest[] = [];
  const end = (): void => {
    const [first] = row;
    const last = row.at(-1);
    if (first && last && row.length >= OUTAGE) outages.push({ fromMs: first.atMs, untilMs: last.atMs + (last.ms ?? 0) / 2, failures: row });
    else single.push(...row);
    row = [];
  };
  for (const request of requests) {
    if (isFailure(request)) row.push(request);
    else if (request.status !== undefined) end();
  }
  end();
  return { outages, single };
}

/** How far the service's clock is ahead of the recording client's; 0 unless its dates rule that out. */
function clockAheadMs(requests: readonly RecordedRequest[]): number {
  let leastMs = Number.NEGATIVE_INFINITY;
  let mostMs = Number.POSITIVE_INFINITY;
  for (const { atMs, ms, dateMs } of requests) {
    if (dateMs === undefined || ms === undefined) continue;
    leastMs = Math.max(leastMs, dateMs - atMs - ms);
    mostMs = Math.min(mostMs, dateMs + 1_000 - atMs);
  }
  if (leastMs <= 0 && mostMs >= 0) return 0;
  return Math.round((leastMs + mostMs) / 2);
}

/** Takes each way of counting, and keeps that which explains the answers with the fewest requests of others. */
function recognise(recording: Recording, aheadMs: number): Counted {
  const plan = limitsOf(recording, aheadMs);
  if (plan === undefined) return { plan, policy: 'fixed-clock', others: [] };
  const answers = answersOf(recording.requests, aheadMs);
  const tried = POLICIES.map((policy) => ({ policy, ...hold(answers, meterOf(plan, policy)) }));
  const [best] = tried.sort((one, other) => one.doubt - other.doubt);
  return { plan, policy: best?.policy ?? 'fixed-clock', others: best?.others ?? [] };
}

function meterOf(plan: PlanLimits, policy: Policy): Meter {
  return new Meter(plan, {
    minutePolicy: policy,
    dayPolicy: 'fixed-clock',
    minuteMs: 60_000,
    ban: false,
    burst: undefined,
    counting: { at: 'arrival', refused: false, uncounted: [] },
    retryAfter: 'seconds',
    limitHeaders: { window: 'tightest', limit: 'plan', omit: [], rate: 1, lagMs: 0, reset: 'seconds', rounding: 'up' },
  });
}

/** The limits that headers told last; else those of the plan, or what passed in a minute before the first 429. */
function limitsOf({ requests, plan }: Recording, aheadMs: number): PlanLimits | undefined {
  const isOfMinute = ({ atMs, rateLimit }: RecordedRequest) => (rateLimit?.resetAtMs ?? 0) - atMs - aheadMs <= MINUTE_AHEAD_MS;
  const told = requests.filter(({ rateLimit }) => rateLimit);
  const minute = told.findLast(isOfMinute)?.rateLimit?.limit;
  const day = told.findLast((request) => !isOfMinute(request))?.rateLimit?.limit;
  const requestsPerMinute = minute ?? (typeof plan === 'object' ? plan.requestsPerMinute : undefined) ?? passedInMinute(requests);
  if (requestsPerMinute === undefined && day === undefined) return undefined;
  // A day alone is no less than its minute.
  const perMinute = requestsPerMinute ?? day ?? 1;
  return { requestsPerMinute: perMinute, ...(day !== undefined && { requestsPerDay: day }) };
}

function passedInMinute(requests: readonly RecordedRequest[]): number | undefined {
  const refused = requests.find((request) => request.status === 429 && !isClosing(request));
  if (!refused) return undefined;
  const fromMs = refused.atMs - 60_000;
  return Math.max(1, requests.filter(({ atMs, status }) => status === 200 && atMs > fromMs && atMs <= refused.atMs).length);
}

/** An answer that the limits decided. */
interface Answer extends Pick<RecordedRequest, 'status' | 'rateLimit'> {
  /** When its request was counted, by the service's clock. */
  readonly atMs: number;
  /** Requests in flight together with it, which its Remaining may know of or not. */
  readonly beside: number;
}

function answersOf(requests: readonly RecordedRequest[], aheadMs: number): Answer[] {
  const counted = requests.filter((request) => request.status !== undefined && !isFailure(request) && !isClosing(request));
  const begins = counted.map(({ atMs }) => atMs).sort((one, other) => one - other);
  const ends = counted.map(({ atMs, ms = 0 }) => atMs + ms).sort((one, other) => one - other);
  return counted.map(({ atMs, ms = 0, status, rateLimit }) => ({
    status,
    rateLimit,
    atMs: atMs + ms / 2 + aheadMs,
    beside: countBelow(begins, atMs + ms + 1) - countBelow(ends, atMs) - 1,
  }));
}

function countBelow(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? value) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Holds the answers against one way of counting. */
function hold(answers: readonly Answer[], meter: Meter): { others: Others[]; doubt: number } {
  const others: Others[] = [];
  let doubt = 0;
  for (const { atMs, status, rateLimit, beside } of answers) {
    const left = meter.told(atMs, 1).remaining;
    const isAdmitted = meter.judge(atMs).kind === 'admitted';
    const told = meter.told(atMs, 1);
    if (!isAdmitted && status !== 429) doubt += UNEXPLAINED;
    if (rateLimit && Math.abs(rateLimit.resetAtMs - told.resetAtMs) > RESET_TOLERANCE_MS) doubt += 1;
    // Refused while something was left: others had all of it.
    const count = status === 429 && isAdmitted ? left : told.remaining - (rateLimit?.remaining ?? told.remaining) - beside;
    if (count <= 0) continue;
    others.push({ atMs, count });
    doubt += count;
    for (let other = 0; other < count; other++) meter.judge(atMs);
  }
  return { others, doubt };
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}
