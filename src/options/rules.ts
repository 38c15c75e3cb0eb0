import type { PetId } from '../contract/models.ts';
import { isPetId } from '../contract/pet-id.ts';
import { ConfigurationError, type FailureDetails, InvalidArgumentError } from '../errors.ts';
import { fieldOf } from '../thrown.ts';

const SHOWN_VALUE = 80;

interface BadValue {
  /** Left out if it may be secret. */
  shown?: unknown;
  /** The variable that it comes from. */
  from?: string | undefined;
}

/** The error of a bad option: the value, where it comes from, and the rule. `plan.requestsPerDay` counts as the option `plan`. */
export function badOption(option: string, rule: string, value: BadValue = {}): ConfigurationError {
  const what = 'shown' in value ? showValue(value.shown) : 'this value';
  const source = value.from === undefined ? '' : ` from ${value.from}`;
  return new ConfigurationError(`Cannot use ${what}${source} as \`${option}\`: it must be ${rule}`, { option: option.replace(/\..*/, '') });
}

/** A value as a reader would write it, on one line. Only the length of a longer one is shown: a key that is cut could not be hidden. */
export function showValue(value: unknown, most = SHOWN_VALUE): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : describe(value);
  return text.length > most ? `a ${typeof value} of ${String(value).length} characters` : text;
}

function describe(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value === 'function') return 'a function';
  return String(value);
}

/**
 * Refuses what is not an object of options, and names that no option has. A bare signal or value was probably meant for the option `signal`,
 * or for the first one. A text is not shown, since it may be the key.
 */
export function checkNames(options: unknown, known: readonly string[]): void {
  const isBareSignal = isSignal(options);
  if (typeof options === 'object' && options !== null && !isBareSignal) return refuseUnknown(options, known);
  const meant = isBareSignal && known.includes('signal') ? 'signal' : known[0];
  const value = isBareSignal || typeof options === 'string' ? undefined : { shown: options };
  throw badOption('options', `an object such as { ${meant} }`, value);
}

/** Refuses names that no option has, so that a misspelt option is not silently ignored; `within` is the option whose parts these are. */
export function refuseUnknown(options: object, known: readonly string[], within?: string): void {
  const unknown = Object.entries(options).find(([name, value]) => value !== undefined && !known.includes(name));
  if (!unknown) return;
  const [name] = unknown;
  const path = within ? `${within}.${name}` : name;
  throw new ConfigurationError(`Cannot use \`${path}\` as an option: the options are ${known.join(', ')}`, {
    option: within ?? name,
  });
}

interface NumberRule {
  min: number;
  /** The smallest value itself is not allowed. */
  above?: boolean;
  max?: number;
  integer?: boolean;
}

/** The bound of every number that has none of its own. */
const LARGEST = Number.MAX_SAFE_INTEGER;

/** Gives the value of a number option, or its default if it is left out. */
export function numberOption<Default>(option: string, value: unknown, fallback: Default, rule: NumberRule): number | Default {
  if (value === undefined) return fallback;
  if (typeof value === 'number' && follows(value, rule)) return value;
  // The bound of all numbers is told only where it is exceeded.
  const told = typeof value === 'number' && value > LARGEST ? { max: LARGEST, ...rule } : rule;
  throw badOption(option, describeRule(told), { shown: value });
}

function follows(value: number, { min, above = false, max = LARGEST, integer = false }: NumberRule): boolean {
  return (above ? value > min : value >= min) && value <= max && (!integer || Number.isSafeInteger(value));
}

function describeRule({ min, above = false, max, integer = false }: NumberRule): string {
  const kind = integer ? 'an integer' : 'a finite number';
  const from = above ? `above ${min}` : `of at least ${min}`;
  return max === undefined ? `${kind} ${from}` : `${kind} ${from} and at most ${max}`;
}

/** Gives the value of an option that is one of a few words, or its default if it is left out; `from` is the variable that it comes from. */
export function wordOption<Word extends string>(
  option: string,
  value: unknown,
  fallback: Word,
  words: readonly Word[],
  from?: string,
): Word {
  const word = value === undefined ? fallback : words.find((known) => known === value);
  if (!word) throw badOption(option, `"${words.join('", "')}"`.replace(/, (?=\S+$)/, ' or '), { shown: value, from });
  return word;
}

/** Gives the value of an option that is true or false, or its default if it is left out. */
export function booleanOption(option: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? fallback;
  throw badOption(option, 'true or false', { shown: value });
}

/** Gives the value of an option that is a function, or undefined if it is left out. */
export function functionOption<Given>(option: string, value: Given): Given {
  if (value === undefined || typeof value === 'function') return value;
  throw badOption(option, 'a function', { shown: value });
}

/** Whether an object has functions of all these names. */
export function hasMethods(value: unknown, names: readonly PropertyKey[]): boolean {
  return typeof value === 'object' && names.every((name) => typeof fieldOf(value, name) === 'function');
}

/** Whether it is an AbortSignal, of whichever realm: in some runtimes, that of a Request is no instance of the global class. */
export function isSignal(value: unknown): value is AbortSignal {
  return hasMethods(value, ['throwIfAborted', 'addEventListener', 'removeEventListener']) && typeof fieldOf(value, 'aborted') === 'boolean';
}

/** Gives the value of an option that is a signal. */
export function signalOption(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || isSignal(signal)) return signal;
  throw badOption('signal', 'an AbortSignal', { shown: signal });
}

/** The id of a pet, as a caller gave it. @throws InvalidArgumentError for a value that is not an int64 */
export function checkPetId(petId: unknown, details: FailureDetails = {}): PetId {
  // Turns -0 into 0.
  if (isPetId(petId)) return petId === 0 ? 0 : petId;
  const rule = `it must be ${petIdRule(petId)}${typeof petId === 'string' ? ', not a string' : ''}`;
  throw new InvalidArgumentError(`Cannot use ${showValue(petId)} as \`petId\`: ${rule}`, { argument: 'petId', ...details });
}

/** What a value has to be that is not the id of a pet. */
export function petIdRule(petId: unknown): string {
  return typeof petId === 'string' ? 'a number or a bigint' : 'an int64 (a bigint beyond ±(2^53−1))';
}
