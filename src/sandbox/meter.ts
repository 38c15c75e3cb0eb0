import { DAY_MS, type PlanLimits } from '../contract/plans.ts';
import { Count, type ToldLimit } from './count.ts';
import type { Rules } from './options.ts';

/** The rules by which all keys of a sandbox are counted. */
export type MeterRules = Pick<Rules, 'minutePolicy' | 'dayPolicy' | 'minuteMs' | 'ban' | 'burst' | 'counting' | 'limitHeaders'>;

/** The meter's decision on one request. */
export interface Verdict {
  readonly kind: 'admitted' | 'limited' | 'banned';
  /** Whether the request came after a 429 and before the end of the wait that this 429 asked for. */
  readonly duringPenalty: boolean;
  /** When the key may send again: now, when the limit admits it, or when the ban ends. Milliseconds since 1970. */
  readonly opensAtMs: number;
  /** Whether this request started the ban. */
  readonly beginsBan: boolean;
}

/** Counts the requests of one key in one environment: two limits, the penalty after a 429, the ban. */
export class Meter {
  readonly #rules: MeterRules;
  readonly #minute: Count;
  readonly #day: Count | undefined;
  #penaltyUntilMs = Number.NEGATIVE_INFINITY;
  #bannedUntilMs = Number.NEGATIVE_INFINITY;
  // Requests refused during the current penalty. Zero again once a penalty has passed.
  #refusedInPenalty = 0;

  constructor(plan: PlanLimits, rules: MeterRules) {
    this.#rules = rules;
    const { lagMs, limit } = rules.limitHeaders;
    const told = { lagMs, tellsBurst: limit === 'burst' };
    this.#minute = new Count({
      policy: rules.minutePolicy,
      limit: plan.requestsPerMinute,
      lengthMs: rules.minuteMs,
      burst: rules.burst,
      ...told,
    });
    const { requestsPerDay } = plan;
    if (requestsPerDay !== undefined) this.#day = new Count({ policy: rules.dayPolicy, limit: requestsPerDay, lengthMs: DAY_MS, ...told });
  }

  /**
   * Decides on a request at its arrival. It counts an admitted request if the rules count at arrival, and a refused one if they count refused
   * requests: its Retry-After includes it.
   */
  judge(nowMs: number): Verdict {
    const duringPenalty = nowMs < this.#penaltyUntilMs;
    if (nowMs < this.#bannedUntilMs) return { kind: 'banned', duringPenalty, beginsBan: false, opensAtMs: this.#bannedUntilMs };
    if (!duringPenalty) this.#refusedInPenalty = 0;
    const isAdmitted = this.#opensAtMs(nowMs) <= nowMs;
    const { at, refused } = this.#rules.counting;
    if (isAdmitted ? at === 'arrival' : refused) this.#take(nowMs);
    if (!isAdmitted) return this.#refuse({ opensAtMs: this.#opensAtMs(nowMs), nowMs, duringPenalty });
    return { kind: 'admitted', duringPenalty, beginsBan: false, opensAtMs: nowMs };
  }

  /** Starts the penalty of a 429 that asks to wait until `untilMs`. A ban goes on without it. */
  penalise(untilMs: number, nowMs: number): void {
    if (nowMs >= this.#bannedUntilMs) this.#penaltyUntilMs = Math.max(this.#penaltyUntilMs, untilMs);
  }

  /** Counts an admitted request by its answer, or removes it from the count. Returns whether the headers have to report anew. */
  settle({ kind }: Verdict, { status, arrivedAtMs, nowMs }: { status: number | undefined; arrivedAtMs: number; nowMs: number }): boolean {
    const { at, uncounted } = this.#rules.counting;
    const isCounted = status === undefined || !uncounted.includes(status);
    if (at === 'completion') {
      if (isCounted && kind === 'admitted') this.#take(nowMs);
      return true;
    }
    if (isCounted || kind !== 'admitted') return false;
    this.#minute.giveBack(arrivedAtMs, nowMs);
    this.#day?.giveBack(arrivedAtMs, nowMs);
    return true;
  }

  /** The values for the headers, of the window that the rules choose. `answer` is the request's number, for `alternate`. */
  told(nowMs: number, answer: number): ToldLimit {
    const minute = this.#minute.told(nowMs);
    const { window } = this.#rules.limitHeaders;
    if (window === 'minute' || this.#day === undefined) return minute;
    const day = this.#day.told(nowMs);
    if (window === 'alternate') return answer % 2 === 0 ? day : minute;
    return window === 'day' || day.remaining < minute.remaining ? day : minute;
  }

  /** Both windows, the penalty and the ban, for the page and the state. */
  gauges(nowMs: number): { minute: ToldLimit; day: ToldLimit | undefined; penaltyUntilMs: number; bannedUntilMs: number } {
    return {
      minute: this.#minute.gauge(nowMs),
      day: this.#day?.gauge(nowMs),
      penaltyUntilMs: this.#penaltyUntilMs,
      bannedUntilMs: this.#bannedUntilMs,
    };
  }

  #opensAtMs(nowMs: number): number {
    return Math.max(this.#minute.opensAtMs(nowMs), this.#day?.opensAtMs(nowMs) ?? nowMs);
  }

  #take(nowMs: number): void {
    this.#minute.take(nowMs);
    this.#day?.take(nowMs);
  }

  /** Refuses a request with a 429 or, after too many refusals during a penalty, with a ban. */
  #refuse({ opensAtMs, nowMs, duringPenalty }: { opensAtMs: number; nowMs: number; duringPenalty: boolean }): Verdict {
    if (duringPenalty) this.#refusedInPenalty += 1;
    const { ban } = this.#rules;
    if (ban === false || this.#refusedInPenalty <= ban.after) return { kind: 'limited', duringPenalty, beginsBan: false, opensAtMs };
    this.#bannedUntilMs = nowMs + ban.forMs;
    this.#penaltyUntilMs = Number.NEGATIVE_INFINITY;
    this.#refusedInPenalty = 0;
    return { kind: 'banned', duringPenalty, beginsBan: true, opensAtMs: this.#bannedUntilMs };
  }
}
