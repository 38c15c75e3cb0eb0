import type { PlanLimits } from './contract/plans.ts';

/** Stands for no limit, as a number that every store can hold. */
export const UNLIMITED = 1e12;

/**
 * The address and key whose quota a store keeps. The store must not keep the key itself, only a hash of both.
 *
 * @see {@link QuotaStore} for an example
 */
export interface StoreKey {
  /** The service's address, as the client's `baseUrl` gives it. */
  address: string;
  /** The key, which must not be stored. */
  apiKey: string;
}

/**
 * A store in which several processes share the quota of one key. It only shares counts; the ledger of each process still decides what may
 * be sent.
 *
 * `redisQuotaStore` and `fileQuotaStore` make one. A store of your own must answer each `LeaseRequest` atomically, even if several
 * processes send one at the same time.
 *
 * @example
 * const store: QuotaStore = {
 *   processes: 2,
 *   isCheap: true,
 *   join: () => ({
 *     exchange: ({ wanted }) => ({ granted: wanted, expiresInMs: 1_000, resetAtMs: 0, waitMs: 0, reason: 'quota', members: 1 }),
 *   }),
 * };
 * const items = await new PetStoreClient({ apiKey, baseUrl, quotaStore: store }).listInventory();
 * console.log(items.length); // → 12
 */
export interface QuotaStore {
  /** Among how many processes the quota is divided while the store cannot be reached; undefined for as many as its last lease named. */
  readonly processes: number | undefined;
  /** Whether an exchange costs so little that no slots are leased ahead of need. */
  readonly isCheap: boolean;
  /**
   * Joins the processes that share the quota of a key. The store calls `onClosed`, with milliseconds from now, when another process reports
   * that the key is closed.
   * @throws ConfigurationError if the store cannot be used
   */
  join(key: StoreKey, onClosed: (closedForMs: number) => void): SharedQuota;
}

/**
 * The shared quota of one key.
 *
 * @see {@link QuotaStore} for an example
 */
export interface SharedQuota {
  /**
   * Reports, gives back and leases in one step. An answer that is not a {@link LeaseResponse}, or none within 600 ms, counts as a failure.
   * @throws anything, or rejects, within half a second if the store cannot be reached
   */
  exchange(request: LeaseRequest): LeaseResponse | Promise<LeaseResponse>;
  /**
   * Ends what `join` started, such as a subscription: `onClosed` need not be called any more. It is called when all clients of the key in
   * this process are closed. If both keys are given as text, it is also called when the process makes a client of another key and this one
   * was not used for 25 hours. `exchange` may still be called, with `wanted` 0, to report and to give back. The next client or call of the
   * key joins again.
   * @throws anything, or rejects; it is ignored
   */
  leave?(): void | Promise<void>;
}

/**
 * What the headers said about one window (specification, Limits). Times are relative to now, since the clocks of processes differ.
 *
 * @see {@link QuotaStore} for an example
 */
export interface ObservedWindow {
  /** The limit in force, in requests. */
  limit: number;
  /** The smallest Remaining that was observed under this Reset. */
  remaining: number;
  /** The Reset, which identifies the window: in milliseconds since 1970 on the server's clock. */
  resetAtMs: number;
  /** Milliseconds until the Reset has surely come; 0 or less if it has. */
  endsInMs: number;
  /** How long ago it was observed, in milliseconds. */
  ageMs: number;
  /** Whether the service seems to use a weighted counter, which gives the slots of the window before back one by one; left out if not. */
  isWeighted?: true;
}

/**
 * What a process reports to the store and requests from it.
 *
 * @see {@link QuotaStore} for an example
 */
export interface LeaseRequest {
  /** The name of the process. */
  member: string;
  /** Slots that it wants; 0 if it only reports. */
  wanted: number;
  /** Slots that it gives back, of the window with the Reset `returnedResetAtMs`. */
  returned: number;
  /** The Reset of that window, in milliseconds since 1970; 0 if it is unknown. */
  returnedResetAtMs: number;
  /** Requests that failed and do not count for the day: they were not sent, or were probes in an outage. Their slots stay used. */
  uncounted: number;
  /** How many of its requests have no answer yet: they may be counted in a window that begins now. */
  unanswered: number;
  /** The headers of answers that came after the end of the window in which their requests were sent. */
  lateAnswers: Pick<ObservedWindow, 'resetAtMs' | 'remaining'>[];
  /** The limits by the options, cut to the share; undefined if they are left to the headers. 1e12 requests a day mean no limit. */
  plan: Partial<PlanLimits>;
  /** The day's limit before it is cut to the share; left out without a share. Processes that do not know the plan yet keep to it. */
  limitPerDay?: number;
  /** What it observed about the minute. */
  minute: ObservedWindow | undefined;
  /** What it observed about the day. */
  day: ObservedWindow | undefined;
  /** Whether its probe was answered. */
  isProbeAnswered: boolean;
  /** For how many milliseconds from now the service has closed the key; 0 if it has not. */
  closedForMs: number;
}

/**
 * What the store answers.
 *
 * @see {@link QuotaStore} for an example
 */
export interface LeaseResponse {
  /** Slots that the process may use until the lease expires; an integer. */
  granted: number;
  /** When the lease expires, in milliseconds from now; above 0 if slots were granted. */
  expiresInMs: number;
  /** The Reset of its window, in milliseconds since 1970; 0 if it is unknown. */
  resetAtMs: number;
  /** If nothing was granted: how many milliseconds to wait before the next request. */
  waitMs: number;
  /**
   * Why the process has to wait: the key is closed (`closed`), its quota is used up (`quota`), or another process's probe has no answer yet
   * (`probe`, for a minute at most: that process may have been killed, so let another one send a probe). `lost`: the store was restarted
   * empty, so that it grants nothing before the window ends. If slots were granted: `probe` if the answer to this one has to show what is
   * left of the window, before another process is granted any.
   */
  reason: 'closed' | 'quota' | 'probe' | 'lost';
  /** How many processes sent a request to the store in this window or in the one before; 1 if the slot that was granted is a probe. */
  members: number;
}
