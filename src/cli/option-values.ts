import { isInt64 } from '../contract/pet-id.ts';
import { DAY_MS } from '../contract/plans.ts';
import { showValue } from '../options/rules.ts';
import { isPartOfList, type SyncOptions } from '../sync/sync-options.ts';
import { characterHint } from './input/wanted-row.ts';
import { UsageError } from './usage-error.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };
/** The longest duration that an option accepts; a timer can wait for 24 days at most. */
const LONGEST_MS = 7 * DAY_MS;

/** Checks that an argument is an integer, and returns its text. @throws UsageError */
function digits(name: string, text: string): string {
  if (/^-?\d{1,400}$/.test(text)) return text;
  throw new UsageError(`Cannot use ${showValue(text)} as ${name}: it must be an integer${characterHint(text)}`);
}

/** Parses an argument as the id of a pet. @throws UsageError */
export function petIdOf(text: string): bigint {
  const petId = BigInt(digits('petId', text));
  if (isInt64(petId)) return petId;
  throw new UsageError(`Cannot use ${text.slice(0, 40)} as petId: it is beyond int64`);
}

/** Parses an argument as a quantity. @throws UsageError */
export function quantityOf(name: string, text: string): number {
  const quantity = Number(digits(name, text));
  if (Number.isSafeInteger(quantity)) return quantity;
  throw new UsageError(`Cannot use ${text.slice(0, 40)} as ${name}: it is beyond ±(2^53−1)`);
}

/** Parses an option as a whole number of up to nine digits, within the bounds if there are any. @throws UsageError */
export function wholeNumber(option: string, text: string, bounds?: { min: number; max: number }): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (bounds ? number >= bounds.min && number <= bounds.max : number >= 0) return number;
  const within = bounds ? ` from ${bounds.min} to ${bounds.max}` : '';
  throw new UsageError(`Cannot use --${option} ${text}: it must be a whole number${within}`);
}

/** Parses `--max-changes`: a number of pets, or a part of the list. @throws UsageError */
export function maxChangesOf({ maxChanges }: { maxChanges?: string }): SyncOptions['maxChanges'] {
  if (maxChanges === undefined) return undefined;
  if (/^\d{1,9}$/.test(maxChanges)) return Number(maxChanges);
  if (isPartOfList(maxChanges)) return maxChanges;
  throw new UsageError(
    `Cannot use --max-changes ${maxChanges}: it must be a number of pets such as 500, or a part of the list such as 10%`,
  );
}

/** Parses a duration such as `90s`, `10m` or `1h30m` into milliseconds. @throws UsageError */
export function durationOption(option: string, text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0 && ms <= LONGEST_MS) return ms;
  const rule = ms === undefined ? 'a time such as 30s, 10m or 1h30m' : 'longer than 0s, and at most 7d';
  throw new UsageError(`Cannot use --${option} ${text}: it must be ${rule}`);
}

/**
 * Parses `--until` into an instant: the next `06:00` of this machine's clock, an instant such as `2026-11-22T06:00Z`, or a duration from
 * now. @throws UsageError
 */
export function untilOption(text: string, nowMs: number): number {
  const ms = parseDuration(text);
  const atMs = ms === undefined ? (clockTime(text, nowMs) ?? instantOf(text)) : nowMs + ms;
  if (atMs !== undefined && atMs > nowMs && atMs - nowMs <= LONGEST_MS) return atMs;
  const rule =
    atMs === undefined
      ? 'a time of day such as 06:00, an instant such as 2026-11-22T06:00Z, or a duration such as 90m'
      : 'later than now, and within the next 7 days';
  throw new UsageError(`Cannot use --until ${text}: it must be ${rule}`);
}

function parseDuration(text: string): number | undefined {
  if (!/^(?:\d{1,9}(?:\.\d{1,3})?(?:ms|s|min|m|h|d))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/([\d.]+)([a-z]+)/g)];
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0), 0);
}

/** The next instant at which this machine's clock shows a time of day. */
function clockTime(text: string, nowMs: number): number | undefined {
  const [, hours, minutes, seconds = '0'] = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(text) ?? [];
  if (hours === undefined) return undefined;
  const at = new Date(nowMs);
  at.setHours(Number(hours), Number(minutes), Number(seconds), 0);
  // Adds a date, not 24 hours: a day with a clock change has 23 or 25.
  if (at.getTime() <= nowMs) at.setDate(at.getDate() + 1);
  return at.getTime();
}

function instantOf(text: string): number | undefined {
  const atMs = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : atMs;
}

/**
 * Parses `--share`: a part of the quota such as `0.5` or `50%`, with `low:` before it for calls of low priority alone.
 * @throws UsageError
 */
export function shareOption(text: string): number | { low: number } {
  const [, low, number, percent] = /^(low[:=])?(\d{1,3}(?:\.\d{1,9})?)(%)?$/.exec(text === 'low' ? 'low:0.5' : text) ?? [];
  const share = Number(number) / (percent ? 100 : 1);
  if (number !== undefined && share > 0 && share <= 1) return low ? { low: share } : share;
  throw new UsageError(
    `Cannot use --share ${text}: it must be a part of the quota such as 0.5 or 50%, or low:0.5 for calls of low priority alone`,
  );
}
