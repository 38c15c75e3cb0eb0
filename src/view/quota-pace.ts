import type { PetStoreApi } from '../api.ts';
import { monotonicMs } from '../clock/monotonic.ts';
import { DAY_MS, MINUTE_MS } from '../contract/plans.ts';
import type { WindowQuota } from '../quota/ledger/quota.ts';

/** The quota is looked at again after this time, since it may change at any time, as when a window ends. */
const LOOK_AGAIN_MS = 1_000;

/** A window that turns as a whole has a Reset that moves by its length; one that moves by less, but by more than this, moves all the time. */
const WHOLE_TURN = 0.85;
const RESET_PRECISION_MS = 2_000;

/** A window of the key's quota, and the number of the view's list requests in it. */
interface SpentWindow {
  lengthMs: number;
  endsAtMs: number;
  requests: number;
  /** Those in the window before. */
  before: number;
  /** The first Reset that was seen of it. */
  resetAtMs: number | undefined;
  /** Whether its Reset moves with time, as that of a token bucket or a sliding log: then it has no end at which it is full again. */
  isRolling: boolean;
}

function spentWindow(lengthMs: number): SpentWindow {
  return { lengthMs, endsAtMs: Number.NEGATIVE_INFINITY, requests: 0, before: 0, resetAtMs: undefined, isRolling: false };
}

/**
 * Spaces lists evenly over the rest of the minute and of the day, so that they use at most `share` of the quota that other calls leave. The
 * lists that were already sent in a window count towards their share of it. In a window without an end, they are spaced over its length.
 */
export class QuotaPace {
  readonly #client: Pick<PetStoreApi, 'quota'>;
  readonly #share: number;
  readonly #minute = spentWindow(MINUTE_MS);
  readonly #day = spentWindow(DAY_MS);
  #leftAtMs = Number.NEGATIVE_INFINITY;
  // No list is due before this instant; then it is computed again.
  #dueAtMs = Number.NEGATIVE_INFINITY;

  constructor(client: Pick<PetStoreApi, 'quota'>, share: number) {
    this.#client = client;
    this.#share = share;
  }

  /** The request of a list is sent. */
  noteRequest(): void {
    const quota = this.#client.quota;
    this.#leftAtMs = monotonicMs();
    this.#note(this.#minute, quota?.minute);
    this.#note(this.#day, quota?.day);
  }

  /** Milliseconds until the next list may be due; 0 or less if one is due. */
  get dueInMs(): number {
    const nowMs = monotonicMs();
    if (nowMs >= this.#dueAtMs) this.#dueAtMs = Math.min(this.#nextAtMs(nowMs), nowMs + LOOK_AGAIN_MS);
    return this.#dueAtMs - nowMs;
  }

  #nextAtMs(nowMs: number): number {
    const quota = this.#client.quota;
    if (!quota) return this.#leftAtMs;
    const closedForMs = quota.closedUntil ? quota.closedUntil.getTime() - Date.now() : Number.NEGATIVE_INFINITY;
    return Math.max(nowMs + closedForMs, this.#nextIn(this.#minute, quota.minute, nowMs), this.#nextIn(this.#day, quota.day, nowMs));
  }

  /** When one window allows the next list. */
  #nextIn(window: SpentWindow, { limit = Number.POSITIVE_INFINITY, remaining, resetAt }: WindowQuota, nowMs: number): number {
    if (remaining === undefined) return this.#leftAtMs;
    turn(window, resetAt);
    const { lengthMs, endsAtMs, requests, before } = window;
    if (window.isRolling || !resetAt) {
      // Requests leave such a window one by one, and so do those of the lists in the window before.
      const own = requests + (before * (endsAtMs - nowMs)) / lengthMs;
      return remaining < 1 ? nowMs + lengthMs : this.#leftAtMs + lengthMs / (this.#share * Math.min(limit, remaining + own));
    }
    const left = this.#share * (remaining + requests) - requests;
    const restMs = restOf(window, resetAt);
    return left < 1 ? nowMs + restMs : this.#leftAtMs + restMs / left;
  }

  #note(window: SpentWindow, { resetAt }: WindowQuota = {}): void {
    turn(window, resetAt);
    window.requests += 1;
  }
}

/** Begins a new window if the old one has ended, and corrects its end if the reset is known by now. */
function turn(window: SpentWindow, resetAt: Date | undefined): void {
  const nowMs = monotonicMs();
  if (resetAt) noteReset(window, resetAt.getTime());
  if (nowMs >= window.endsAtMs) {
    window.before = nowMs < window.endsAtMs + window.lengthMs ? window.requests : 0;
    window.endsAtMs = Number.POSITIVE_INFINITY;
    window.requests = 0;
  }
  window.endsAtMs = Math.min(window.endsAtMs, nowMs + restOf(window, window.isRolling ? undefined : resetAt));
}

function noteReset(window: SpentWindow, resetAtMs: number): void {
  const movedMs = resetAtMs - (window.resetAtMs ?? resetAtMs);
  const isNext = movedMs >= WHOLE_TURN * window.lengthMs;
  window.isRolling ||= movedMs > RESET_PRECISION_MS && !isNext;
  if (isNext || window.resetAtMs === undefined) window.resetAtMs = resetAtMs;
}

/** Milliseconds until a window ends; at most its length, since the reset follows the server's clock, which may be wrong. */
function restOf({ lengthMs }: SpentWindow, resetAt: Date | undefined): number {
  const restMs = resetAt ? resetAt.getTime() - Date.now() : lengthMs;
  return restMs > 0 ? Math.min(restMs, lengthMs) : lengthMs;
}
