import * as z from 'zod/mini';
import { SandboxError, show } from './sandbox-error.ts';

/** For each option, what it accepts, and the sentence that says so. */
export type OptionRules<Options> = Readonly<Record<keyof Options, readonly [schema: z.ZodMiniType, rule: string]>>;

export const POSITIVE = z.int().check(z.gte(1));
/** A part of all requests or answers. */
export const SHARE = z.number().check(z.gte(0), z.lte(1));
/** A function of the caller's, whose result is checked when it is called. */
export const FUNCTION = z.custom<() => unknown>((value) => typeof value === 'function');

/** Names in quotes, separated by commas, for a rule. */
export const words = (names: readonly string[]) => names.map((name) => `"${name}"`).join(', ');

/** An object of such values. `z.record` alone skips `__proto__`, which `JSON.parse` makes a name like any other. */
export function recordOf<Value>(values: z.ZodMiniType<Value>) {
  const record = z.record(z.string(), values);
  const isEach = (value: object) => Object.values(value).every((each) => values.safeParse(each).success);
  return z.custom<Record<string, Value>>((value) => record.safeParse(value).success && isEach(Object(value)));
}

/**
 * Checks that a value is an object of named options, not a list, a function or an object of another kind such as a Map.
 * @throws {SandboxError} that shows the value, its `place` and an example.
 */
export function checkObject(value: unknown, { place, example }: { place: string; example: string }): void {
  // A module that exports the options is one of them.
  if (/^\[object (?:Object|Module)\]$/.test(Object.prototype.toString.call(value))) return;
  throw new SandboxError(`Cannot use ${show(value)} as ${place}: it must be a plain object such as ${example}`);
}

/**
 * Checks options against their rules; an undefined option counts as missing. Messages put `place` before the name of an option,
 * and do not show `keys`.
 * @throws {SandboxError} that names the option, the rule and the value.
 */
export function checkOptions(options: object, rules: Readonly<Record<string, readonly [z.ZodMiniType, string]>>, place = ''): void {
  const known: ReadonlyMap<string, readonly [z.ZodMiniType, string]> = new Map(Object.entries(rules));
  for (const [name, value] of Object.entries(options)) {
    const [schema, rule] = known.get(name) ?? [];
    if (schema === undefined) {
      throw new SandboxError(`Cannot use \`${place}${name}\` as an option: the options are ${[...known.keys()].join(', ')}`);
    }
    if (value === undefined || schema.safeParse(value).success) continue;
    throw new SandboxError(`Cannot use ${name === 'keys' ? 'that value' : show(value)} as \`${place}${name}\`: ${rule}`);
  }
}
