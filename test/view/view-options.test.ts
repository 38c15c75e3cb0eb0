import { expect, test } from 'vitest';
import { checkAdjustOptions, checkReadOptions, resolveViewOptions } from '../../src/view/view-options.ts';

test('a view is as fresh as half of the quota allows, and gives what is a minute old where a list fails, unless told otherwise', () => {
  expect(resolveViewOptions({})).toEqual({ maxAgeMs: 'quota', quotaShare: 0.5, maxStaleMs: 60_000, signal: undefined });
  const options = { maxAgeMs: 0, quotaShare: 1, maxStaleMs: 0, signal: new AbortController().signal };
  expect(resolveViewOptions(options)).toEqual(options);
});

test('an adjustment may become any safe integer unless told otherwise, and its bounds may be one number', () => {
  const [min, max] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  expect(checkAdjustOptions()).toEqual({ min, max, signal: undefined });
  expect(checkAdjustOptions({ min: 5, max: 5 })).toEqual({ min: 5, max: 5, signal: undefined });
});

test('a signal in place of the options of a read is refused with `signal`', () => {
  const check = () => Reflect.apply(checkReadOptions, undefined, [new AbortController().signal]);
  expect(check).toThrow('it must be an object such as { signal }');
});

test.each<[string, string, (value: unknown) => unknown]>([
  ['a view', 'maxAgeMs', (value) => Reflect.apply(resolveViewOptions, undefined, [value])],
  ['a read', 'maxAgeMs', (value) => Reflect.apply(checkReadOptions, undefined, [value])],
  ['an adjustment', 'min', (value) => Reflect.apply(checkAdjustOptions, undefined, [value])],
])('a number in place of the options of %s is refused with `%s`, which it was meant for', (_of, name, check) => {
  expect(() => check(5_000)).toThrow(`Cannot use 5000 as \`options\`: it must be an object such as { ${name} }`);
});
