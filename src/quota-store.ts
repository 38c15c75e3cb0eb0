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
 * Where several processes keep the quota of one key together. It only shares: the ledger of each process stays the judge.
 *
 * `redisQuotaStore` and `fileQuotaStore` make one. One of your own has to answer each `LeaseAsk` in one step, whoever else asks.
 *
 * @example
 * const store: QuotaStore = {
 *   processes: 2,
 *   isNear: true,
 *   join: () => ({
 *     exchange: ({ wanted }) => ({ granted: wanted, endsInMs: 1_000, windowMs: 0, waitMs: 0, reason: 'quota', members: 1 }),
 *   }),
 * };
 * const items = await new PetStoreClient({ apiKey, baseUrl, quotaStore: store }).listInventory();
 * console.log(items.length); // → 12
 */
export interface QuotaStore {
  /** Among how many processes the quota is divided while the store cannot be reached; undefined: as many as it saw last. */
  readonly processes: number | undefined;
  /** Whether a lease costs so little that none is taken ahead of need. */
  readonly isNear: boolean;
  /**
   * Takes part in what is kept of a key; `hear` is told when another process met a closed gate.
   * @throws ConfigurationError
   */
  join(key: StoreKey, hear: (closedForMs: number) => void): SharedQuota;
}

/**
 * What is kept of one key.
 *
 * @see {@link QuotaStore} for an example
 */
export interface SharedQuota {
  /**
   * Reports, gives back and takes, in one step. An answer that is no {@link LeaseAnswer}, or none within 600 ms, counts as a failure.
   * @throws anything, or rejects, where the store cannot be reached, in at most half a second
   */
  exchange(ask: LeaseAsk): LeaseAnswer | Promise<LeaseAnswer>;
}

/**
 * What the headers said of one window (specification, Limits), in time from now: the clocks of processes differ.
 *
 * @see {@link QuotaStore} for an example
 */
export interface HeardWindow {
  /** The limit in force, in requests. */
  limit: number;
  /** The smallest that was heard under this Reset. */
  remaining: number;
  /** Names the window: its Reset, in milliseconds since 1970 by the server's clock. */
  resetAtMs: number;
  /** When the Reset has surely come; not positive where it has. */
  endsInMs: number;
  /** How long ago it was heard. */
  agoMs: number;
}

/**
 * What a process says to the store.
 *
 * @see {@link QuotaStore} for an example
 */
export interface LeaseAsk {
  /** Names the process. */
  member: string;
  /** Slots that it has use for; 0 only reports. */
  wanted: number;
  /** Slots that it gives back, of the window with this Reset. */
  returned: number;
  /** The Reset of that window, in milliseconds since 1970; 0 where it is not known. */
  returnedOfMs: number;
  /** Its requests that are out: they may be counted in a window that begins now. */
  unanswered: number;
  /** What those were told that were answered after the window they were sent in. */
  late: Pick<HeardWindow, 'resetAtMs' | 'remaining'>[];
  /** What the options say, share included; undefined where they leave it to the headers. A day of 1e12 requests has no limit. */
  plan: Partial<PlanLimits>;
  /** What it heard of the minute. */
  minute: HeardWindow | undefined;
  /** What it heard of the day. */
  day: HeardWindow | undefined;
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
export interface LeaseAnswer {
  /** Slots that the process may use until the window ends; an integer. */
  granted: number;
  /** How long they live, in milliseconds; above 0 where there are any. */
  endsInMs: number;
  /** The Reset of their window, in milliseconds since 1970; 0 where it is not known. */
  windowMs: number;
  /** Where nothing was granted: how many milliseconds to wait before asking again. */
  waitMs: number;
  /** What keeps the process waiting: the key is closed, its quota is used up, or another process's probe is out. */
  reason: 'closed' | 'quota' | 'probe' | 'lost';
  /** Processes that asked in this window. */
  members: number;
}
