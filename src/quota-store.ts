import type { PlanLimits } from './contract/plans.ts';

/** Whose quota it is. A store never keeps the key, only a hash of both. */
export interface StoreKey {
  address: string;
  apiKey: string;
}

/** Where several processes keep the quota of one key together. It only shares: the ledger of each process stays the judge. */
export interface QuotaStore {
  /** Among how many processes the quota is divided while the store cannot be reached; undefined: as many as it saw last. */
  readonly processes: number | undefined;
  /** Whether a lease costs so little that none is taken ahead of need. */
  readonly isNear: boolean;
  /** Takes part in what is kept of a key; `hear` is told when another process met a closed gate. @throws ConfigurationError */
  join(key: StoreKey, hear: (closedForMs: number) => void): SharedQuota;
}

/** What is kept of one key. */
export interface SharedQuota {
  /** Reports, gives back and takes, in one step. Throws or rejects where the store cannot be reached, in at most half a second. */
  exchange(ask: LeaseAsk): LeaseAnswer | Promise<LeaseAnswer>;
}

/** What the headers said of one window, in time from now: the clocks of processes differ. */
export interface HeardWindow {
  limit: number;
  /** The smallest that was heard under this Reset. */
  remaining: number;
  /** Names the window. */
  resetAtMs: number;
  /** When the Reset has surely come; not positive where it has. */
  endsInMs: number;
  agoMs: number;
}

/** What a process says to the store. */
export interface LeaseAsk {
  /** Names the process. */
  member: string;
  /** Slots that it has use for; 0 only reports. */
  wanted: number;
  /** Slots that it gives back, of the window with this Reset. */
  returned: number;
  returnedOfMs: number;
  /** Its requests that are out: they may be counted in a window that begins now. */
  unanswered: number;
  /** What those were told that were answered after the window they were sent in. */
  late: Pick<HeardWindow, 'resetAtMs' | 'remaining'>[];
  /** What the options say, share included; undefined where they leave it to the headers. */
  plan: Partial<PlanLimits>;
  minute: HeardWindow | undefined;
  day: HeardWindow | undefined;
  /** Its probe was answered. */
  isProbeAnswered: boolean;
  /** The service closed the key for so long from now on; 0 where it did not. */
  closedForMs: number;
}

/** What the store answers. */
export interface LeaseAnswer {
  /** Slots that the process may use until the window ends. */
  granted: number;
  /** How long they live. */
  endsInMs: number;
  /** The Reset of their window; 0 where it is not known. */
  windowMs: number;
  /** Where nothing was granted: how long to wait before asking again. */
  waitMs: number;
  /** What keeps the process waiting: the key is closed, its quota is used up, or another process's probe is out. */
  reason: 'closed' | 'quota' | 'probe' | 'lost';
  /** Processes that asked in this window. */
  members: number;
}
