import type { Call } from '../../call.ts';
import { FULL, type Ledger, type Outlook } from '../ledger/ledger.ts';
import type { Quota } from '../ledger/quota.ts';
import type { QuotaSettings } from '../ledger/settings.ts';
import { Share } from '../ledger/share.ts';

/** The ledger whose limits a share is a part of, and the current time. */
export interface ShareBasis {
  ledger: Pick<Ledger, 'windows' | 'windowsAt' | 'snapshot'>;
  nowMs: number;
}

/** The limits of one client at its gate: requests in flight, and its share of the quota. */
export class ClientLimits {
  readonly #concurrency: number;
  readonly #share: QuotaSettings['share'];
  #inFlight = 0;
  // The client's share, created with the first call that counts towards it.
  #counted: Share | undefined;

  constructor({ concurrency, share }: Pick<QuotaSettings, 'concurrency' | 'share'>) {
    this.#concurrency = concurrency;
    this.#share = share;
  }

  /** How many requests of a priority the client may send now. */
  free(priority: Call['priority'], { ledger, nowMs }: ShareBasis): number {
    const slots = this.#concurrency - this.#inFlight;
    const share = this.#shareOf(priority, ledger);
    return share ? Math.min(slots, share.free(ledger.windowsAt(nowMs), nowMs)) : slots;
  }

  /** When to look again, and why, if the client may send no request of a priority now. */
  look(priority: Call['priority'], { ledger, nowMs }: ShareBasis): Outlook {
    const at = this.#shareOf(priority, ledger)?.freeAt(ledger.windowsAt(nowMs), nowMs) ?? nowMs;
    return at > nowMs ? { free: 0, at, reason: 'quota', isOfShare: true } : FULL;
  }

  /** What its share leaves of the quota to its calls of low priority; undefined if the share does not limit them beyond the windows. */
  quota({ ledger, nowMs }: ShareBasis): Quota['share'] {
    const share = this.#shareOf('low', ledger);
    return share && ledger.snapshot(nowMs, share);
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

  /** The share of calls of a priority. With a ledger, undefined if its windows are already cut to the share. */
  #shareOf(priority: Call['priority'], ledger?: ShareBasis['ledger']): Share | undefined {
    const part = partOf(this.#share, priority);
    if (part === 1 || ledger?.windows.areShares) return undefined;
    this.#counted ??= new Share(part);
    return this.#counted;
  }
}

function partOf(share: QuotaSettings['share'], priority: Call['priority']): number {
  if (typeof share === 'number') return share;
  return priority === 'low' ? share.low : 1;
}
