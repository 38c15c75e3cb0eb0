import type { PlanLimits } from './contract/plans.ts';

/**
 * Whose quota it is. A store never keeps the key, only a hash of both.
 *
 * @see {@link QuotaStore} for an example
 */
export interface StoreKey {
  /** The service's address, as the client's `baseUrl` gives it. */
  address: string;
  /** The key; not to be written down. */
  apiKey: string;
}

/**
 * Where several processes keep the quota of one key together. It only shares counts; the ledger of each process still decides what may be
 * sent.
 *
 * `redisQuotaStore` and `fileQuotaStore` make one. One of your own has to answer each `LeaseRequest` in one step, also where several
 * processes send one at once.
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
  /** Among how many processes the quota is divided while the store cannot be reached; undefined: as many as it saw last. */
  readonly processes: number | undefined;
  /** Whether an exchange costs so little that no slots are leased ahead of need. */
  readonly isCheap: boolean;
  /**
   * Takes part in what is kept of a key; `onClosed` is called when another process met a closed gate.
   * @throws ConfigurationError
   */
  join(key: StoreKey, onClosed: (closedForMs: number) => void): SharedQuota;
}

/**
 * What is kept of one key.
 *
 * @see {@link QuotaStore} for an example
 */
export interface SharedQuota {
  /**
   * Reports, gives back and leases, in one step. An answer that is no {@link LeaseResponse}, or none within 600 ms, counts as a failure.
   * @throws anything, or rejects, where the store cannot be reached, in at most half a second
   */
  exchange(request: LeaseRequest): LeaseResponse | Promise<LeaseResponse>;
}

/**
 * What the headers said of one window (specification, Limits), in time from now: the clocks of processes differ.
 *
 * @see {@link QuotaStore} for an example
 */
export interface ObservedWindow {
  /** The limit in force, in requests. */
  limit: number;
  /** The smallest Remaining that was observed under this Reset. */
  remaining: number;
  /** Names the window: its Reset, in milliseconds since 1970 by the server's clock. */
  resetAtMs: number;
  /** When the Reset has surely come; not positive where it has. */
  endsInMs: number;
  /** How long ago it was observed. */
  ageMs: number;
}

/**
 * What a process reports to the store, and requests of it.
 *
 * @see {@link QuotaStore} for an example
 */
export interface LeaseRequest {
  /** Names the process. */
  member: string;
  /** Slots that it has use for; 0 only reports. */
  wanted: number;
  /** Slots that it gives back, of the window with the Reset `returnedResetAtMs`. */
  returned: number;
  /** The Reset of that window, in milliseconds since 1970; 0 where it is not known. */
  returnedResetAtMs: number;
  /** Its requests that have no answer yet: they may be counted in a window that begins now. */
  unanswered: number;
  /** What the headers said to requests that were answered after the window they were sent in. */
  lateAnswers: Pick<ObservedWindow, 'resetAtMs' | 'remaining'>[];
  /** What the options say, share included; undefined where they leave it to the headers. A day of 1e12 requests has no limit. */
  plan: Partial<PlanLimits>;
  /** What it observed of the minute. */
  minute: ObservedWindow | undefined;
  /** What it observed of the day. */
  day: ObservedWindow | undefined;
  /** Its probe was answered. */
  isProbeAnswered: boolean;
  /** The service closed the key for so many milliseconds from now on; 0 where it did not. */
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
  /** When the lease expires, in milliseconds from now; above 0 where there are slots. */
  expiresInMs: number;
  /** The Reset of its window, in milliseconds since 1970; 0 where it is not known. */
  resetAtMs: number;
  /** Where nothing was granted: how many milliseconds to wait before the next request. */
  waitMs: number;
  /**
   * What the process waits for: the key is closed, its quota is used up, or another process's probe has no answer yet. `lost`: the store
   * came back empty, so that it grants nothing before the window ends.
   */
  reason: 'closed' | 'quota' | 'probe' | 'lost';
  /** Processes that sent a request in this window. */
  members: number;
}
