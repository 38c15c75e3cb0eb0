import type { InventoryItem } from '../contract/models.ts';
import { type FailureDetails, InvalidArgumentError } from '../errors.ts';
import { badOption, checkNames, numberOption, showValue, signalOption } from '../options/rules.ts';

/**
 * Options of a view.
 *
 * @example
 * const options: StockViewOptions = { maxAgeMs: 5_000, maxStaleMs: 0 };
 * const view = new StockView(petstore, options);
 */
export interface StockViewOptions {
  /**
   * The greatest age of the stock that a read returns, in milliseconds since its list was sent. With 0, each read sends a list. With
   * `'quota'`, lists are sent as often as `quotaShare` of the key's quota allows, spread evenly over the minute and the day.
   * @default 'quota'
   */
  maxAgeMs?: number | 'quota' | undefined;
  /**
   * With `'quota'`: the part of the remaining minute and day that lists may use, above 0 and at most 1.
   * @default 0.5
   */
  quotaShare?: number | undefined;
  /**
   * The greatest age of the held stock that reads return when a list fails, in milliseconds since its list was sent. With 0, reads then
   * reject.
   * @default 60000
   */
  maxStaleMs?: number | undefined;
  /**
   * Ends the view.
   * @default none
   */
  signal?: AbortSignal | undefined;
}

/**
 * Options of one read.
 *
 * @example
 * const options: ViewReadOptions = { maxAgeMs: 1_000, signal: AbortSignal.timeout(2_000) };
 * console.log(await new StockView(petstore).get(3, options)); // → { petId: 3, quantity: 28, status: 'sold' }
 */
export interface ViewReadOptions {
  /**
   * Aborts the read, which then rejects with `signal.reason`. Its list continues as long as other readers wait for it.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * The greatest age of the stock that the read returns, in milliseconds, or `'quota'`.
   * @default the view's `maxAgeMs`
   */
  maxAgeMs?: number | 'quota' | undefined;
}

/**
 * Options of `items()`.
 *
 * @example
 * const options: ViewItemsOptions = { status: 'sold' };
 * for (const { petId } of await new StockView(petstore).items(options)) console.log(petId); // → 3
 */
export interface ViewItemsOptions extends ViewReadOptions {
  /**
   * Only pets with this status.
   * @default all
   */
  status?: InventoryItem['status'] | undefined;
}

/**
 * Options of an adjustment.
 *
 * @example
 * const options: AdjustOptions = { min: 0 };
 * const item = await new StockView(petstore).adjust(3, -1, options);
 * console.log(item.quantity); // → 27
 */
export interface AdjustOptions {
  /**
   * The smallest quantity that is allowed, a safe integer.
   * @default none
   */
  min?: number | undefined;
  /**
   * The largest quantity that is allowed, a safe integer.
   * @default none
   */
  max?: number | undefined;
  /**
   * Aborts the adjustment, which then rejects with `signal.reason`. If its update was already sent, it may have been applied.
   * @default none
   */
  signal?: AbortSignal | undefined;
}

/** The options of a view with their defaults. */
export interface ResolvedViewOptions {
  maxAgeMs: number | 'quota';
  quotaShare: number;
  maxStaleMs: number;
  signal: AbortSignal | undefined;
}

const NO_READ_OPTIONS: ViewReadOptions = {};

/** @throws ConfigurationError that names the option */
export function resolveViewOptions(options: StockViewOptions): ResolvedViewOptions {
  checkNames(options, ['maxAgeMs', 'quotaShare', 'maxStaleMs', 'signal']);
  return {
    maxAgeMs: maxAgeOption(options.maxAgeMs),
    quotaShare: numberOption('quotaShare', options.quotaShare, 0.5, { min: 0, above: true, max: 1 }),
    maxStaleMs: numberOption('maxStaleMs', options.maxStaleMs, 60_000, { min: 0 }),
    signal: signalOption(options.signal),
  };
}

/** @throws ConfigurationError that names the option */
export function checkReadOptions(options: ViewReadOptions | undefined, more: readonly string[] = []): ViewReadOptions {
  if (options === undefined) return NO_READ_OPTIONS;
  checkNames(options, ['maxAgeMs', 'signal', ...more]);
  maxAgeOption(options.maxAgeMs);
  signalOption(options.signal);
  return options;
}

/** @throws ConfigurationError that names the option */
export function checkItemsOptions(options: ViewItemsOptions | undefined): ViewItemsOptions {
  if (options === undefined) return NO_READ_OPTIONS;
  checkReadOptions(options, ['status']);
  const { status } = options;
  if (status !== undefined && typeof status !== 'string') throw badOption('status', 'a string', { shown: status });
  return options;
}

/** @throws ConfigurationError that names the option */
export function checkRefreshOptions(options: Pick<ViewReadOptions, 'signal'> | undefined): AbortSignal | undefined {
  if (options === undefined) return undefined;
  checkNames(options, ['signal']);
  return signalOption(options.signal);
}

/** @throws ConfigurationError that names the option */
export function checkAdjustOptions(options: AdjustOptions = {}): { min: number; max: number; signal: AbortSignal | undefined } {
  checkNames(options, ['min', 'max', 'signal']);
  const rule = { min: Number.MIN_SAFE_INTEGER, integer: true };
  const min = numberOption('min', options.min, Number.MIN_SAFE_INTEGER, rule);
  const max = numberOption('max', options.max, Number.MAX_SAFE_INTEGER, rule);
  if (min > max) throw badOption('min', `at most the \`max\` of ${max}`, { shown: min });
  return { min, max, signal: signalOption(options.signal) };
}

/** @throws InvalidArgumentError for a value that is not a safe integer */
export function checkDelta(delta: unknown, details: FailureDetails): number {
  if (typeof delta === 'number' && Number.isSafeInteger(delta)) return delta;
  const message = `Cannot use ${showValue(delta)} as \`delta\`: it must be an integer within ±(2^53−1)`;
  throw new InvalidArgumentError(message, { argument: 'delta', ...details });
}

function maxAgeOption(value: unknown = 'quota'): number | 'quota' {
  if (value === 'quota') return value;
  if (typeof value === 'string') throw badOption('maxAgeMs', '"quota" or a finite number of at least 0', { shown: value });
  return numberOption('maxAgeMs', value, 0, { min: 0 });
}
