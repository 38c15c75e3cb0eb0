import type { Call } from '../../call.ts';
import { FULL, type Ledger, type Outlook } from '../ledger/ledger.ts';
import type { Quota } from '../ledger/quota.ts';
import { Share } from '../ledger/share.ts';
import type { QuotaSettings } from '../ledger/windows.ts';

/** The limits of one client at its gate: requests in flight, and its share of the quota. */
export class ClientLimits {
  readonly #settings: Pick<QuotaSettings, 'concurrency' | 'share'>;
  readonly #ledger: Ledger;
  #inFlight = 0;
  // The client's share, created with the first call that counts towards it.
  #counted: Share | undefined;

  /** @param ledger whose limits the share is a part of */
  constructor(settings: Pick<QuotaSettings, 'concurrency' | 'share'>, ledger: Ledger) {
    this.#settings = settings;
    this.#ledger = ledger;
  }

  /** How many requests of a priority the client may send now. */
  free(priority: Call['priority'], nowMs: number): number {
    const slots = this.#settings.concurrency - this.#inFlight;
    const share = this.#limitingShare(priority);
    return Math.max(0, share ? Math.min(slots, share.free(this.#ledger.windowsAt(nowMs), nowMs)) : slots);
  }

  /** When to look again, and why, if the client may send no request of a priority now. */
  look(priority: Call['priority'], nowMs: number): Outlook {
    const at = this.#limitingShare(priority)?.freeAt(this.#ledger.windowsAt(nowMs), nowMs) ?? nowMs;
    return at > nowMs ? { free: 0, at, reason: 'quota', isOfShare: true } : FULL;
  }

  /** What its share leaves of the quota to its calls of low priority; undefined if the share does not limit them beyond the windows. */
  quota(nowMs: number): Quota['share'] {
    const share = this.#limitingShare('low');
    return share && this.#ledger.snapshot(nowMs, share);
  }

  /** Counts a request that is about to be sent. Returns the share that it counts towards, if any. */
  use(priority: Call['priority'], nowMs: number): Share | undefined {
    this.#inFlight++;
    const share = this.#shareOf(priority);
    share?.add(nowMs);
    return share;
  }

  /** The request is over: its body was read or dropped. */
  leave(): void {
    this.#inFlight--;
  }

  /** The share of calls of a priority, unless the windows of the ledger are already cut to it. */
  #limitingShare(priority: Call['priority']): Share | undefined {
    return this.#ledger.windows.areCutToShare ? undefined : this.#shareOf(priority);
  }

  #shareOf(priority: Call['priority']): Share | undefined {
    const { share } = this.#settings;
    const part = typeof share === 'number' ? share : priority === 'low' ? share.low : 1;
    if (part === 1) return undefined;
    this.#counted ??= new Share(part);
    return this.#counted;
  }
}
