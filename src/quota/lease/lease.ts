import { MINUTE_MS, PLANS, type PlanLimits } from '../../contract/plans.ts';
import type { LeaseResponse, ObservedWindow } from '../../quota-store.ts';
import type { Outlook } from '../ledger/ledger.ts';

/** Presumed if neither an option nor the store says how many processes there are. */
const PRESUMED_PROCESSES = 10;
/** A lease that was used up within this time is followed by one of twice its size. */
const FAST_MS = 1000;
/** The shortest pause before the next request to a store that granted nothing. */
const LEAST_WAIT_MS = 25;
/** The longest time between two requests that ask whether another process's probe was answered. */
const LONGEST_POLL_MS = 400;
/** The most such requests in a row for each process, which take a minute: the others may take turns with their probes before this one. */
export const MOST_POLLS = 155;

/** Slots of the common quota that one process holds; they expire with their window. Pure: the time is a parameter. */
export class Lease {
  /** The Reset of their window. */
  readonly resetAtMs: number;
  readonly expiresAtMs: number;
  /** Whether a store granted it, which counts its slots. */
  readonly isShared: boolean;
  readonly #granted: number;
  readonly #requestedAtMs: number;
  #slots: number;

  /** @param requestedAtMs when the request to the store was sent: counted from then, the lease cannot outlast the window */
  constructor(
    { granted, resetAtMs, expiresInMs }: Pick<LeaseResponse, 'granted' | 'resetAtMs' | 'expiresInMs'>,
    requestedAtMs: number,
    isShared = true,
  ) {
    this.#granted = granted;
    this.#requestedAtMs = requestedAtMs;
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

  /** How many slots the next lease should have for `wanted` calls: at times more, so that calls that come one by one do not each cost a request. */
  nextSize(wanted: number, nowMs: number): number {
    return nowMs - this.#requestedAtMs > FAST_MS ? wanted : Math.max(wanted, 2 * this.#granted);
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
/** A process that holds no slots waits for an answer: that of the store, or that to the probe of another process. */
export const ASKED: Pick<Outlook, 'at' | 'reason'> = { at: Number.POSITIVE_INFINITY, reason: 'quota' };

/** What a process waits for to which the store granted nothing; beyond the minute if other processes have used up the day. */
export function outlookOf({ reason, waitMs }: LeaseResponse, nowMs: number): Pick<Outlook, 'at' | 'reason'> {
  if (reason === 'probe') return ASKED;
  const isDayUsedUp = reason === 'quota' && waitMs > LONGEST_MINUTE_WAIT_MS;
  return { at: isDayUsedUp ? nowMs + waitMs : nowMs, reason: reason === 'closed' ? 'rate-limit' : 'quota' };
}

/**
 * For how long to pause before the next request after nothing was granted. This process may know sooner than the store that the window has
 * ended. A longer wait for quota may become shorter: the store may be told that the day has begun anew, or be reset.
 * @param minute undefined if none is known to be under way
 * @param polls requests in a row to which the store answered that another process's probe is in flight
 */
export function pauseMs({ reason, waitMs }: LeaseResponse, minute: ObservedWindow | undefined, polls: number): number {
  const saidMs = Math.max(LEAST_WAIT_MS, waitMs);
  if (reason === 'probe') return Math.min(LONGEST_POLL_MS, saidMs * 2 ** (polls - 1));
  return reason === 'quota' ? Math.min(saidMs, minute?.endsInMs ?? LONGEST_MINUTE_WAIT_MS) : saidMs;
}
