import { PLANS, type PlanLimits } from '../../contract/plans.ts';
import type { HeardWindow } from '../../quota-store.ts';
import { Lease } from './lease.ts';

const MINUTE_MS = 60_000;
/** Processes that are presumed where neither option nor store told how many there are. */
const PRESUMED_PROCESSES = 10;

interface LocalShareStart {
  plan: Partial<PlanLimits>;
  /** What the headers said of the minute; undefined where they have not. */
  minute: HeardWindow | undefined;
  processes: number | undefined;
}

/** What a process takes for its own while the store cannot be reached: an even part of what is left, until the window ends. */
export function localShare({ plan, minute, processes = PRESUMED_PROCESSES }: LocalShareStart, nowMs: number): Lease {
  const limit = plan.requestsPerMinute ?? minute?.limit ?? PLANS.free.requestsPerMinute;
  const part = Math.floor(Math.min(limit, minute?.remaining ?? limit) / processes);
  // Where nothing was heard one request has to ask.
  const granted = minute ? part : Math.max(1, part);
  return new Lease({ granted, windowMs: minute?.resetAtMs ?? 0, endsInMs: minute?.endsInMs ?? MINUTE_MS }, nowMs);
}
