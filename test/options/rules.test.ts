import { ConfigurationError } from 'petstore-inventory';
import { describe, expect, test } from 'vitest';
import {
  badOption,
  booleanOption,
  checkNames,
  hasMethods,
  numberOption,
  refuseUnknown,
  showValue,
  wordOption,
} from '../../src/options/rules.ts';
import { thrower, thrownBy } from '../support/outcome.ts';

describe('badOption', () => {
  test('names the option, the rule and the value', () => {
    const error = badOption('plan', 'one of the plans', { shown: 'gold' });
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ option: 'plan', message: 'Cannot use "gold" as `plan`: it must be one of the plans' });
  });

  test('names the whole option for a part of it', () => {
    expect(badOption('plan.requestsPerDay', 'an integer', { shown: 0 })).toMatchObject({
      option: 'plan',
      message: 'Cannot use 0 as `plan.requestsPerDay`: it must be an integer',
    });
  });

  test('shows no value if none is given', () => {
    expect(badOption('apiKey', 'a string').message).toBe('Cannot use this value as `apiKey`: it must be a string');
  });
});

describe('checkNames', () => {
  test('accepts an object of known names, and refuses others by name', () => {
    checkNames({ share: 1 }, ['maxRetries', 'share']);
    expect(thrownBy(() => checkNames({ maxRetry: 3 }, ['maxRetries', 'share']))).toMatchObject({ option: 'maxRetry' });
  });

  test.each([
    ['a number', 5_000, 'Cannot use 5000 as `options`: it must be an object such as { maxAgeMs }'],
    ['null', null, 'Cannot use null as `options`: it must be an object such as { maxAgeMs }'],
    ['a text, which may be the key', 'psk_1', 'Cannot use this value as `options`: it must be an object such as { maxAgeMs }'],
    ['a signal', new AbortController().signal, 'Cannot use this value as `options`: it must be an object such as { signal }'],
  ])('refuses %s, and names the option that was probably meant', (_what, options, message) => {
    expect(thrownBy(() => checkNames(options, ['maxAgeMs', 'signal']))).toMatchObject({ option: 'options', message });
  });

  test('names the first option if there is none for a signal', () => {
    expect(() => checkNames(new AbortController().signal, ['latest'])).toThrow('an object such as { latest }');
  });
});

describe('refuseUnknown', () => {
  test('names an option that is not known, and those that are', () => {
    expect(thrownBy(() => refuseUnknown({ maxRetry: 3 }, ['maxRetries', 'share']))).toMatchObject({
      option: 'maxRetry',
      message: 'Cannot use `maxRetry` as an option: the options are maxRetries, share',
    });
  });

  test('names the option whose part is not known', () => {
    expect(thrownBy(() => refuseUnknown({ high: 1 }, ['low'], 'share'))).toMatchObject({
      option: 'share',
      message: 'Cannot use `share.high` as an option: the options are low',
    });
  });

  test('accepts what is undefined', () => {
    expect(() => refuseUnknown({ maxRetry: undefined }, ['maxRetries'])).not.toThrow();
  });
});

describe('showValue', () => {
  test.each([
    ['gold', '"gold"'],
    ['two\nlines', '"two\\nlines"'],
    [12, '12'],
    [Number.NaN, 'NaN'],
    [12n, '12n'],
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'true'],
    [[1, 2], 'an array'],
    [{ secret: 1 }, 'an object'],
    [() => 1, 'a function'],
    [Symbol('x'), 'Symbol(x)'],
  ])('writes %o as %s', (value, shown) => {
    expect(showValue(value)).toBe(shown);
  });

  test('names a long value by its length', () => {
    expect([showValue('x'.repeat(500)), showValue(10n ** 99n)]).toEqual(['a string of 500 characters', 'a bigint of 100 characters']);
  });
});

describe('numberOption', () => {
  test('gives the default if the value is left out, and the value otherwise', () => {
    expect([numberOption('n', undefined, 7, { min: 0 }), numberOption('n', 0, 7, { min: 0 })]).toEqual([7, 0]);
  });

  test.each([
    [{ min: 1 }, 0, 'a finite number of at least 1'],
    [{ min: 0, above: true }, 0, 'a finite number above 0'],
    [{ min: 0, above: true, max: 1 }, 1.1, 'a finite number above 0 and at most 1'],
    [{ min: 1, integer: true }, 1.5, 'an integer of at least 1'],
    [{ min: 0 }, Number.NaN, 'a finite number of at least 0'],
    [{ min: 0 }, Number.POSITIVE_INFINITY, 'a finite number of at least 0 and at most 9007199254740991'],
    [{ min: 0, above: true }, 2 ** 53, 'a finite number above 0 and at most 9007199254740991'],
    [{ min: 0 }, '5', 'a finite number of at least 0'],
    [{ min: 0 }, null, 'a finite number of at least 0'],
    [{ min: 0 }, 5n, 'a finite number of at least 0'],
    [{ min: 0, integer: true }, 2 ** 53, 'an integer of at least 0 and at most 9007199254740991'],
  ])('follows the rule %o and refuses %s', (rule, value, told) => {
    const error = thrownBy(() => numberOption('n', value, 7, rule));
    expect(error).toMatchObject({ option: 'n', message: `Cannot use ${showValue(value)} as \`n\`: it must be ${told}` });
  });
});

test('wordOption accepts the known words, gives the default if the value is left out, and refuses others', () => {
  const words = ['normal', 'low'] as const;
  expect([wordOption('priority', 'low', 'normal', words), wordOption('priority', undefined, 'normal', words)]).toEqual(['low', 'normal']);
  expect(thrownBy(() => wordOption('priority', 'high', 'normal', words))).toMatchObject({
    option: 'priority',
    message: 'Cannot use "high" as `priority`: it must be "normal" or "low"',
  });
});

test('booleanOption accepts true and false, gives the default if the value is left out, and refuses others', () => {
  expect([booleanOption('latestOnly', true, false), booleanOption('latestOnly', undefined, true)]).toEqual([true, true]);
  expect(thrownBy(() => booleanOption('latestOnly', 'yes', false))).toMatchObject({
    option: 'latestOnly',
    message: 'Cannot use "yes" as `latestOnly`: it must be true or false',
  });
});

test('hasMethods is true if every name is a function', () => {
  const unreadable = Object.defineProperty({}, 'debug', { get: thrower });
  expect([console, { debug: 1 }, unreadable, null, 'x'].map((value) => hasMethods(value, ['debug']))).toEqual([
    ...[true, false, false],
    ...[false, false],
  ]);
  expect([hasMethods(console, ['debug', 'info']), hasMethods(console, ['debug', 'shout'])]).toEqual([true, false]);
});
