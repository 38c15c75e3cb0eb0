/** A Reset further away than this cannot be the minute's. */
const LONGEST_MINUTE_MS = 120_000;
/** Nor can one that is further away than this be the day's. */
const LONGEST_DAY_MS = 25 * 3_600_000;
/** A Reset this close is the minute's where no plan is given, and may teach its limit. */
const TEACHING_MINUTE_MS = 62_000;

/** What is known of a plan when headers speak. */
export interface KnownLimits {
  minute: number | undefined;
  day: number | undefined;
  /** Without a plan the headers teach it. */
  isPlanGiven: boolean;
}

/** Whether a Reset so far ahead is one that no window can have. */
export function isBeyondWindows(aheadMs: number): boolean {
  return aheadMs > LONGEST_DAY_MS;
}

/** Whether a Reset so far ahead may teach the minute's limit. */
export function mayTeachMinute(aheadMs: number): boolean {
  return aheadMs <= TEACHING_MINUTE_MS;
}

/**
 * Which window the headers speak of, by their Limit and how far ahead their Reset is: one that is far away is the day's; so is a Limit that is
 * the plan's for the day and not for the minute. Undefined where they claim what no window can be.
 */
export function spokenWindow(limit: number, aheadMs: number, known: KnownLimits): 'minute' | 'day' | undefined {
  if (isBeyondWindows(aheadMs)) return undefined;
  if (aheadMs > LONGEST_MINUTE_MS) return 'day';
  if (!known.isPlanGiven && mayTeachMinute(aheadMs)) return 'minute';
  return limit === known.day && limit !== known.minute ? 'day' : 'minute';
}
