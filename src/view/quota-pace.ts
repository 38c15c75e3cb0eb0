import type { PetStoreApi } from '../api.ts';
import { monotonicMs } from '../clock/monotonic.ts';
import { DAY_MS, MINUTE_MS } from '../contract/plans.ts';
import type { WindowQuota } from '../quota/ledger/quota.ts';

/** The quota is looked at again after this time, since it may change at any time, as when a window ends. */
const LOOK_AGAIN_MS = 1_000;

/** A window of the key's quota, and the number of the view's list requests in it. */
interface SpentWindow {
  lengthMs: number;
  endsAtMs: number;
  requests: number;
}

/**
 * Spaces lists evenly over the rest of the minute and of the day, so that they use at most `share` of the quota that other calls leave. The
 * lists that were already sent in a window count towards their share of it.
 */
export class QuotaPace {
  readonly #client: Pick<PetStoreApi, 'quota'>;
  readonly #share: number;
  readonly #minute: SpentWindow = { lengthMs: MINUTE_MS, endsAtMs: Number.NEGATIVE_INFINITY, requests: 0 };
  readonly #day: SpentWindow = { lengthMs: DAY_MS, endsAtMs: Number.NEGATIVE_INFINITY, requests: 0 };
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
  #nextIn(window: SpentWindow, { remaining, resetAt }: WindowQuota, nowMs: number): number {
    if (remaining === undefined) return this.#leftAtMs;
    turn(window, resetAt);
    const left = this.#share * (remaining + window.requests) - window.requests;
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
  const nowMs = Date.now();
  if (resetAt && resetAt.getTime() > nowMs) window.endsAtMs = Math.min(window.endsAtMs, resetAt.getTime());
  if (nowMs < window.endsAtMs) return;
  window.endsAtMs = nowMs + restOf(window, resetAt);
  window.requests = 0;
}

/** Milliseconds until a window ends; at most its length, since the reset follows the server's clock, which may be wrong. */
function restOf({ lengthMs }: SpentWindow, resetAt: Date | undefined): number {
  const restMs = resetAt ? resetAt.getTime() - Date.now() : lengthMs;
  return restMs > 0 ? Math.min(restMs, lengthMs) : lengthMs;
}
