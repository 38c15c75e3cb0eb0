import * as z from 'zod/mini';
import { SandboxError, show } from './sandbox-error.ts';

/** What a value must be, and the sentence that says so. */
type Rule = readonly [schema: z.ZodMiniType, sentence: string];

/** The rule of each option. */
export type OptionRules<Options> = Readonly<Record<keyof Options, Rule>>;

export const POSITIVE = z.int().check(z.gte(1));
/** A part of all requests or answers. */
export const SHARE = z.number().check(z.gte(0), z.lte(1));
/** A function of the caller's, whose result is checked when it is called. */
export const FUNCTION = z.custom<() => unknown>((value) => typeof value === 'function');

/** Names in quotes, separated by commas, for a rule. */
export const words = (names: readonly string[]) => names.map((name) => `"${name}"`).join(', ');

/** An object of such values. `z.record` skips `__proto__`, which `JSON.parse` makes a name like any other. */
export function recordOf<Value>(values: z.ZodMiniType<Value>) {
  return z.custom<Record<string, Value>>(
    (value) => isPlainObject(value) && Object.values(Object(value)).every((each) => values.safeParse(each).success),
  );
}

/** A module that exports the options is one too; a list, a function, a Map and the like are none. */
function isPlainObject(value: unknown): boolean {
  return /^\[object (?:Object|Module)\]$/.test(Object.prototype.toString.call(value));
}

/**
 * Checks that a value is an object of named options.
 * @throws {SandboxError} that shows the value, its `place` and an example.
 */
export function checkObject(value: unknown, { place, example }: { place: string; example: string }): void {
  if (isPlainObject(value)) return;
  throw new SandboxError(`Cannot use ${show(value)} as ${place}: it must be a plain object such as ${example}`);
}

/** Checks one value. Messages do not show `keys`. @throws {SandboxError} that names the rule and the value */
export function checkValue(value: unknown, name: string, [schema, sentence]: Rule): void {
  if (schema.safeParse(value).success) return;
  throw new SandboxError(`Cannot use ${name === 'keys' ? 'that value' : show(value)} as \`${name}\`: ${sentence}`);
}

/**
 * Checks options against their rules; an undefined option counts as missing. Messages put `place` before the name of an option.
 * @throws {SandboxError} that names the option, the rule and the value.
 */
export function checkOptions(options: object, rules: Readonly<Record<string, Rule>>, place = ''): void {
  const known: ReadonlyMap<string, Rule> = new Map(Object.entries(rules));
  for (const [name, value] of Object.entries(options)) {
    const rule = known.get(name);
    if (!rule) throw new SandboxError(`Cannot use \`${place}${name}\` as an option: the options are ${[...known.keys()].join(', ')}`);
    if (value !== undefined) checkValue(value, place + name, rule);
  }
}
