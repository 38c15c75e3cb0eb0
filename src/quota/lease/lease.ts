import { MINUTE_MS, PLANS, type PlanLimits } from '../../contract/plans.ts';
import type { LeaseResponse, ObservedWindow } from '../../quota-store.ts';

/** Presumed if neither an option nor the store says how many processes there are. */
const PRESUMED_PROCESSES = 10;
/** A lease that was used up within this time is followed by one of twice its size. */
const FAST_MS = 1000;
/** The shortest pause before the next request to a store that granted nothing. */
const LEAST_WAIT_MS = 25;
/** The longest time between two requests that ask whether another process's probe was answered. */
const LONGEST_POLL_MS = 400;
/** The most such requests in a row for each process, which take a minute: the others may take turns with their probes before this one. */
const MOST_POLLS = 155;

/** Slots of the common quota that one process holds; they expire with their window. Pure: the time is a parameter. */
export class Lease {
  /** The Reset of their window. */
  readonly resetAtMs: number;
  readonly expiresAtMs: number;
  /** Whether a store granted it, which counts its slots. */
  readonly isShared: boolean;
  #slots: number;

  /** @param requestedAtMs when the request to the store was sent: counted from then, the lease cannot outlast the window */
  constructor(
    { granted, resetAtMs, expiresInMs }: Pick<LeaseResponse, 'granted' | 'resetAtMs' | 'expiresInMs'>,
    requestedAtMs: number,
    isShared = true,
  ) {
    this.#slots = granted;
    this.isShared = isShared;
    this.resetAtMs = resetAtMs;
    this.expiresAtMs = requestedAtMs + expiresInMs;
  }

  static none(): Lease {
    return new Lease({ granted: 0, resetAtMs: 0, expiresInMs: 0 }, 0);
  }

  free(nowMs: number): number {
    return nowMs < this.expiresAtMs ? this.#slots : 0;
  }

  use(): void {
    if (this.#slots > 0) this.#slots--;
  }

  giveBack(): void {
    this.#slots++;
  }

  /** Ends the lease and returns the slots that were left. */
  end(nowMs: number): number {
    const left = this.free(nowMs);
    this.#slots = 0;
    return left;
  }
}

interface LocalLeaseStart {
  plan: Partial<PlanLimits>;
  /** What the headers reported about the minute; undefined if they have reported nothing. */
  minute: ObservedWindow | undefined;
  processes: number | undefined;
  /** Requests without an answer, which the headers do not include. */
  unanswered: number;
}

/**
 * The lease that a process gives itself while the store cannot be reached: an even part of what is left, until the window ends. The part
 * includes its requests in flight.
 */
export function localLease({ plan, minute, processes = PRESUMED_PROCESSES, unanswered }: LocalLeaseStart, nowMs: number): Lease {
  const limit = plan.requestsPerMinute ?? minute?.limit ?? PLANS.free.requestsPerMinute;
  const part = Math.floor(Math.min(limit, minute?.remaining ?? limit) / processes) - unanswered;
  // Before the first answer, one request has to find out what is left.
  const granted = Math.max(minute ? 0 : 1, part);
  return new Lease({ granted, resetAtMs: minute?.resetAtMs ?? 0, expiresInMs: minute?.endsInMs ?? MINUTE_MS }, nowMs, false);
}

/** A longer wait for quota is for the day. */
const LONGEST_MINUTE_WAIT_MS = 65_000;

/** Until when the store has no quota, if that is beyond the minute: other processes have used up the day. Otherwise 0. */
export function dayEndsAtMs({ reason, waitMs }: LeaseResponse, nowMs: number): number {
  return reason === 'quota' && waitMs > LONGEST_MINUTE_WAIT_MS ? nowMs + waitMs : 0;
}

/** Decides how many slots to request from a store, and when, so that few requests are needed. Pure: the time is a parameter. */
export class LeasePacing {
  #granted = 0;
  #grantedAtMs = Number.NEGATIVE_INFINITY;
  // Requests in a row to which the store answered that another process's probe is in flight.
  #polls = 0;

  grant(slots: number, nowMs: number): void {
    this.#granted = slots;
    this.#grantedAtMs = nowMs;
    this.#polls = 0;
  }

  /** How many slots to request for `wanted` calls: at times more, so that calls that come one by one do not each cost a request. */
  sizeFor(wanted: number, nowMs: number): number {
    return nowMs - this.#grantedAtMs > FAST_MS ? wanted : Math.max(wanted, 2 * this.#granted);
  }

  /**
   * When to request again after nothing was granted. This process may know sooner than the store that the window has ended. A longer wait
   * for quota may become shorter: the store may be told that the day has begun anew, or be reset.
   * @param minute undefined if none is known to be under way
   */
  nextAtMs({ reason, waitMs }: LeaseResponse, minute: ObservedWindow | undefined, nowMs: number): number {
    const pauseMs = Math.max(LEAST_WAIT_MS, waitMs);
    if (reason === 'probe') return nowMs + Math.min(LONGEST_POLL_MS, pauseMs * 2 ** this.#polls++);
    this.#polls = 0;
    return nowMs + (reason === 'quota' ? Math.min(pauseMs, minute?.endsInMs ?? LONGEST_MINUTE_WAIT_MS) : pauseMs);
  }

  /** Whether the store has waited for the probes of other processes for too long, and still does. */
  isProbeLost(response: LeaseResponse): boolean {
    return response.granted === 0 && response.reason === 'probe' && this.#polls >= MOST_POLLS * (response.members || 1);
  }
}
