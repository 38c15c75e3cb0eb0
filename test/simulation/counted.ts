import type { PlanLimits } from '../../src/contract/plans.ts';
import { Meter } from '../../src/sandbox/meter.ts';
import { POLICIES, type Policy } from '../../src/sandbox/windows.ts';
import { isClosing, isFailure, MINUTE_AHEAD_MS } from './failures.ts';
import type { RecordedRequest, Recording } from './recording.ts';

const RESET_TOLERANCE_MS = 2_000;
/** What one answer weighs that a way of counting cannot explain at all, beside one more request of others. */
const UNEXPLAINED = 10;
export const USUAL_LATENCY_MS = 50;

/** Requests of others on the key. */
export interface Others {
  readonly atMs: number;
  readonly count: number;
}

/** How the service seems to count, as far as a recording shows. */
export interface Counted {
  /** Undefined where no limit was met or told. */
  readonly plan: PlanLimits | undefined;
  readonly policy: Policy;
  readonly others: readonly Others[];
  /** Failed requests of the client itself that it seems to have counted, and 429s for another reason than the limit. */
  readonly failures: ReadonlySet<RecordedRequest>;
}

/** How far the service's clock is ahead of the recording client's; 0 unless its dates rule that out. */
export function clockAheadMs(requests: readonly RecordedRequest[]): number {
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
export function recognise(recording: Recording, aheadMs: number): Counted {
  const plan = limitsOf(recording, aheadMs);
  if (plan === undefined) return { plan, policy: 'fixed-clock', others: [], failures: new Set() };
  const signs = signsOf(recording.requests, aheadMs);
  const tried = POLICIES.map((policy) => ({ policy, ...explain(signs, () => meterOf(plan, policy)) }));
  const [best] = tried.sort((one, other) => one.doubt - other.doubt);
  return { plan, policy: best?.policy ?? 'fixed-clock', others: best?.others ?? [], failures: best?.failures ?? new Set() };
}

export function meterOf(plan: PlanLimits, policy: Policy): Meter {
  return new Meter(plan, {
    minutePolicy: policy,
    dayPolicy: 'fixed-clock',
    minuteMs: 60_000,
    ban: false,
    burst: undefined,
    counting: { at: 'arrival', refused: false, uncounted: [] },
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

/** A request that shows how the service counts. */
interface Sign {
  readonly request: RecordedRequest;
  /** Whether it was judged by the limits; one that failed or has no answer may have been, or not. */
  readonly isJudged: boolean;
  /** When it was counted, by the service's clock. */
  readonly atMs: number;
  readonly endedAtMs: number;
  /** Requests in flight together with it, which its Remaining may know of or not. */
  readonly beside: number;
}

function signsOf(requests: readonly RecordedRequest[], aheadMs: number): Sign[] {
  const shown = requests.filter((request) => !isClosing(request));
  const endOf = ({ atMs, ms = Number.POSITIVE_INFINITY }: RecordedRequest) => atMs + ms;
  const begins = shown.map(({ atMs }) => atMs).sort((one, other) => one - other);
  const ends = shown.map(endOf).sort((one, other) => one - other);
  return shown.map((request) => ({
    request,
    isJudged: request.status !== undefined && !isFailure(request),
    atMs: request.atMs + (request.status === undefined ? USUAL_LATENCY_MS : (request.ms ?? 0)) / 2 + aheadMs,
    endedAtMs: endOf(request) + aheadMs,
    beside: Math.max(0, countBelow(begins, endOf(request)) - countBelow(ends, request.atMs + 1) - 1),
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

interface Explained {
  readonly others: readonly Others[];
  readonly failures: ReadonlySet<RecordedRequest>;
  readonly doubt: number;
}

/** Finds which failures were counted, then counts them at their own instants. */
function explain(signs: readonly Sign[], newMeter: () => Meter): Explained {
  const first = new Explanation(newMeter(), new Set());
  for (const sign of signs) first.hold(sign);
  if (first.failures.size === 0) return first;
  const second = new Explanation(newMeter(), first.failures);
  for (const sign of signs) second.hold(sign);
  return second;
}

/** Holds what a recording shows against one way of counting. */
class Explanation implements Explained {
  readonly others: Others[] = [];
  readonly failures: Set<RecordedRequest>;
  doubt = 0;
  readonly #meter: Meter;
  /** Requests of the client that may have been counted: they explain a smaller Remaining before others do. */
  #uncertain: Sign[] = [];

  constructor(meter: Meter, failures: ReadonlySet<RecordedRequest>) {
    this.#meter = meter;
    this.failures = new Set(failures);
  }

  hold(sign: Sign): void {
    const { atMs, isJudged, request, beside } = sign;
    const { rateLimit } = request;
    const left = this.#meter.told(atMs, 1).remaining;
    if (!isJudged && !this.failures.has(request)) this.#uncertain.push(sign);
    const isAdmitted = isJudged || this.failures.has(request) ? this.#meter.judge(atMs).kind === 'admitted' : undefined;
    const told = this.#meter.told(atMs, 1);
    const isRefused = request.status === 429;
    if (isAdmitted === false && isJudged && !isRefused) this.doubt += UNEXPLAINED;
    if (rateLimit && Math.abs(rateLimit.resetAtMs - told.resetAtMs) > RESET_TOLERANCE_MS) this.doubt += 1;
    // Refused while something was left: all of it was used by requests that do not show, unless the answer agrees with the count.
    const isAgreed = rateLimit && rateLimit.remaining > 0 && Math.abs(rateLimit.remaining - told.remaining) <= beside + 1;
    if (isRefused && isAdmitted && isAgreed) this.failures.add(request);
    const count = isRefused && isAdmitted && !isAgreed ? left : told.remaining - (rateLimit?.remaining ?? told.remaining) - beside;
    if (count > 0) this.#blame(count, atMs);
    // A Remaining that shows none of them rules them out.
    if (rateLimit) this.#uncertain = this.#uncertain.filter((other) => other !== sign && other.endedAtMs > atMs);
  }

  #blame(count: number, atMs: number): void {
    const own = this.#uncertain.splice(0, count);
    for (const { request } of own) this.failures.add(request);
    const ofOthers = count - own.length;
    if (ofOthers > 0) this.others.push({ atMs, count: ofOthers });
    this.doubt += ofOthers;
    for (let taken = 0; taken < count; taken++) this.#meter.judge(atMs);
  }
}
