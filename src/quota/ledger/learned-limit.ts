import type { Answer } from '../../contract/limits.ts';
import type { SlidingLog } from './candidates/sliding-log.ts';
import type { Sending } from './outstanding.ts';

/** A refused request: when it was sent, whether the remaining quota was known then, and how long the service told it to wait. */
export type Refused = Pick<Sending, 'atMs' | 'wasQuotaKnown'> & Pick<Answer, 'retryAfterMs'>;

const SHRINK = 0.75;
/** With this many times as many requests the limit turns out to be larger. */
const NEAR = 1.5;
/** A refusal after fewer requests than this may have another cause: it counts only if it repeats. */
const FEWEST = 5;
/** The first refusals with a Retry-After as short as this do not count either: mocks and gateways send such ones. */
const SHORT_MS = 5_000;
const MOST_SHORT = 2;
/** The factor by which the limit grows in a window without a refusal, up to nine tenths of the number that was refused. */
const GROWTH = 1.1;
/** From there on it grows slowly, since the next refusal is near (RFC 9438 section 4.1), but still doubles within half an hour. */
const FAST_GROWTH = Math.log(0.9 / SHRINK);
const SLOW_PER_MS = Math.LN2 / 1_800_000;

/** A limit learned from refusals where no header reports Remaining: lower after each, and higher with the time without one. */
export class LearnedLimit {
  // When the first request after a refusal succeeded: a new window may have begun then. Undefined while none has.
  #reopenedAtMs: number | undefined;
  readonly #growthPerMs: number;
  #most = Number.POSITIVE_INFINITY;
  #atMs = Number.NEGATIVE_INFINITY;
  #refusedAfter = Number.POSITIVE_INFINITY;
  // How many refusals had a short Retry-After.
  #short = 0;
  // The latest refusal after few requests.
  #suspected = { sent: 0, atMs: Number.NEGATIVE_INFINITY };

  constructor(lengthMs: number) {
    this.#growthPerMs = Math.max(Math.log(GROWTH) / lengthMs, SLOW_PER_MS);
  }

  /** Requests that may be sent in a window; without a limit once a new window may have begun. */
  most(nowMs: number): number {
    return this.#reopenedAtMs === undefined ? Math.floor(this.#grown(nowMs)) : Number.POSITIVE_INFINITY;
  }

  #grown(nowMs: number): number {
    const fast = this.#growthPerMs * Math.max(0, nowMs - this.#atMs);
    const slow = (Math.max(0, fast - FAST_GROWTH) / this.#growthPerMs) * SLOW_PER_MS;
    return this.#most * Math.exp(Math.min(fast, FAST_GROWTH) + slow);
  }

  /** When that many requests may be sent in a window. */
  reachesAt(count: number): number {
    const growth = Math.log(count / this.#most);
    const ms = Math.min(growth, FAST_GROWTH) / this.#growthPerMs + Math.max(0, growth - FAST_GROWTH) / SLOW_PER_MS;
    return this.#atMs + Math.ceil(ms) + 1;
  }

  /** Whether the window that began after a refusal has used up as much as was refused before, so that the next request may be refused. */
  isNear(log: SlidingLog): boolean {
    if (this.#reopenedAtMs === undefined) return false;
    const sent = log.sentSince(this.#reopenedAtMs);
    return sent >= Math.floor(SHRINK * this.#refusedAfter) && sent < NEAR * this.#refusedAfter;
  }

  /** The first request after a refusal succeeded. */
  reopen(nowMs: number): void {
    this.#reopenedAtMs ??= nowMs;
  }

  /** A request was refused; the log has what was sent within a window's length. */
  refuse(log: SlidingLog, refused: Refused, nowMs: number): void {
    const sent = log.sent(nowMs);
    const sentSinceOpen = this.#reopenedAtMs === undefined ? sent : log.sentSince(this.#reopenedAtMs);
    this.#reopenedAtMs = undefined;
    if (!this.#isLimit(sent, refused, nowMs)) return;
    if (sentSinceOpen >= FEWEST) this.#refusedAfter = sentSinceOpen;
    this.#most = SHRINK * Math.min(sent, this.#grown(nowMs));
    this.#atMs = nowMs;
  }

  /**
   * Refusals of requests that were sent together count once, and the first two with a short Retry-After not at all. A refusal after few
   * requests counts only if the refused one was no probe, and the refusal before came after at least as many. If a refusal took longer than
   * a window, nothing is known of what was sent before it.
   */
  #isLimit(sent: number, { atMs, wasQuotaKnown, retryAfterMs = Number.POSITIVE_INFINITY }: Refused, nowMs: number): boolean {
    if (sent < 1 || atMs < this.#atMs) return false;
    if (retryAfterMs <= SHORT_MS && ++this.#short <= MOST_SHORT) {
      this.#atMs = nowMs;
      return false;
    }
    if (sent >= FEWEST) return true;
    const suspected = this.#suspected;
    if (!wasQuotaKnown || atMs < suspected.atMs) return false;
    this.#suspected = { sent, atMs: nowMs };
    return sent <= suspected.sent;
  }
}
