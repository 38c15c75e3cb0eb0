import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { CALL_DEFAULTS, headersOption, resolveCallOptions } from '../../src/options/call-options.ts';
import { thrownBy } from '../support/outcome.ts';

/** Options as a caller without types may give them. */
function resolve(given: object): unknown {
  return resolveCallOptions(given, CALL_DEFAULTS);
}

/** Makes it an instance of another class that has the same methods. */
function ofAnotherRealm(signal: AbortSignal): AbortSignal {
  return Object.setPrototypeOf(signal, Object.create(EventTarget.prototype, Object.getOwnPropertyDescriptors(AbortSignal.prototype)));
}

describe('resolveCallOptions', () => {
  test('has the defaults of the contract', () => {
    expect(CALL_DEFAULTS).toEqual({
      signal: undefined,
      attemptTimeoutMs: 30_000,
      totalTimeoutMs: undefined,
      maxRetries: 5,
      maxWaitMs: 120_000,
      priority: 'normal',
      latestOnly: false,
      headers: {},
    });
  });

  test("uses the client's options if the call has none", () => {
    expect(resolveCallOptions(undefined, CALL_DEFAULTS)).toBe(CALL_DEFAULTS);
    expect(resolve({})).toEqual(CALL_DEFAULTS);
    expect(resolve({ maxRetries: undefined, headers: undefined, signal: undefined, priority: undefined })).toEqual(CALL_DEFAULTS);
  });

  test("prefers the call's option to the client's", () => {
    const { signal } = new AbortController();
    const given = { signal, attemptTimeoutMs: 1.5, totalTimeoutMs: 2, maxRetries: 0, maxWaitMs: 0, priority: 'low', latestOnly: true };
    expect(resolve(given)).toEqual({ ...given, headers: {} });
  });

  test("adds the call's headers to the client's, and prefers the call's if both have one", () => {
    const defaults = { ...CALL_DEFAULTS, headers: { 'x-a': 'client', 'x-b': 'client' } };
    expect(resolveCallOptions({ headers: { 'X-B': 'call', 'X-C': 'call' } }, defaults).headers).toEqual({
      'x-a': 'client',
      'x-b': 'call',
      'x-c': 'call',
    });
  });

  const POSITIVE = 'a finite number above 0';
  const COUNT = 'an integer of at least 0';

  test.each([
    ['attemptTimeoutMs', 0, POSITIVE],
    ['attemptTimeoutMs', -1, POSITIVE],
    ['attemptTimeoutMs', Number.NaN, POSITIVE],
    ['totalTimeoutMs', 0, POSITIVE],
    ['totalTimeoutMs', Number.POSITIVE_INFINITY, POSITIVE],
    ['maxRetries', -1, COUNT],
    ['maxRetries', 1.5, COUNT],
    ['maxRetries', '3', '"3"'],
    ['maxWaitMs', -1, 'a finite number of at least 0'],
    ['maxWaitMs', null, 'null'],
    ['latestOnly', 'yes', 'Cannot use "yes" as `latestOnly`: it must be true or false'],
    ['priority', 'high', '"normal" or "low"'],
    ['signal', {}, 'an AbortSignal'],
    ['headers', 'x: y', 'a plain object of strings'],
    ['headers', null, 'a plain object of strings'],
    ['headers', [['x', 'y']], 'a plain object of strings'],
    ['headers', new Map([['x', 'y']]), 'a plain object of strings'],
    ['headers', new URLSearchParams('x=y'), 'a plain object of strings'],
    ['headers', Promise.resolve({ x: 'y' }), 'a plain object of strings'],
  ])('refuses %s: %o with a ConfigurationError that names option and rule', (option, value, told) => {
    const error = thrownBy(() => resolve({ [option]: value }));
    expect(error).toMatchObject({ kind: 'configuration', option, message: expect.stringContaining(`\`${option}\``) });
    expect(error).toMatchObject({ message: expect.stringContaining(told) });
  });

  test.each([
    ['low', 'this value'],
    [null, 'null'],
    [5, '5'],
  ])('refuses the options %o, which are no object, without showing what may be the key', (options, shown) => {
    expect(thrownBy(() => Reflect.apply(resolveCallOptions, undefined, [options, CALL_DEFAULTS]))).toMatchObject({
      option: 'options',
      message: `Cannot use ${shown} as \`options\`: it must be an object such as { signal }`,
    });
  });

  test('takes a signal of another realm, as the Requests of some runtimes have', () => {
    const signal = ofAnotherRealm(new AbortController().signal);
    expect(resolve({ signal })).toEqual({ ...CALL_DEFAULTS, signal });
  });

  test.each([
    ['a signal', new AbortController().signal],
    ['a signal of another realm', ofAnotherRealm(new AbortController().signal)],
  ])('refuses %s instead of options, which would be ignored silently', (_what, signal) => {
    expect(thrownBy(() => Reflect.apply(resolveCallOptions, undefined, [signal, CALL_DEFAULTS]))).toMatchObject({
      option: 'options',
      message: 'Cannot use this value as `options`: it must be an object such as { signal }',
    });
  });
});

describe('headersOption', () => {
  test('gives names in lower case, from an object or from Headers', () => {
    expect(headersOption({ 'X-Trace': 'a b', Accept: 'application/json', 'x-latin': 'é' })).toEqual({
      'x-trace': 'a b',
      accept: 'application/json',
      'x-latin': 'é',
    });
    expect(headersOption(new Headers({ 'X-Trace': '1' }))).toEqual({ 'x-trace': '1' });
  });

  test.each([
    ['without a prototype', Object.assign(Object.create(null), { 'x-trace': '1' })],
    ['of another realm', runInNewContext("({ 'x-trace': '1' })")],
  ])('takes a plain object %s', (_which, headers) => {
    expect(headersOption(headers)).toEqual({ 'x-trace': '1' });
  });

  test.each([
    'Authorization',
    'authorization',
    'AUTHORIZATION',
    'Proxy-Authorization',
    'Content-Type',
    'Content-Length',
    'Transfer-Encoding',
    'Connection',
    'Keep-Alive',
    'Upgrade',
    'Expect',
    'Host',
    'TE',
    'Trailer',
  ])('refuses %s, which the client sets itself, without showing its value', (name) => {
    const error = thrownBy(() => headersOption({ [name]: 'Bearer hunter2' }));
    expect(error).toMatchObject({
      option: 'headers',
      message: `Cannot set "${name.toLowerCase()}" in \`headers\`: the client sets it itself`,
    });
  });

  test.each(['', 'a b', 'a:b', 'a\n', 'ä', 'a"b'])('refuses the name %j', (name) => {
    expect(thrownBy(() => headersOption({ [name]: 'x' }))).toMatchObject({
      option: 'headers',
      message: expect.stringContaining('must be an object whose names are header names'),
    });
  });

  test.each(['x-token: hunter2', 'sk_live_hunter2/rest'])('shows no part of the bad name %j, which may contain the key', (name) => {
    expect(thrownBy(() => headersOption({ [name]: '' }))).toMatchObject({
      message: 'Cannot use this value as `headers`: it must be an object whose names are header names (RFC 9110 section 5.1)',
    });
  });

  test('says that a value must be Latin-1, as fetch wants it', () => {
    expect(thrownBy(() => headersOption({ a: '€' }))).toMatchObject({
      message: 'Cannot use this value as `headers`: it must be an object of Latin-1 strings without control characters, which "a" is not',
    });
  });

  test.each(['hunter2\r\nX-Evil: 1', 'hunter2\n', 'hunter2\0', 'hunter2 €', 5, null, undefined])(
    'refuses the value %j without showing it',
    (value) => {
      const error = thrownBy(() => headersOption({ 'x-trace': value }));
      expect(error).toMatchObject({ option: 'headers', message: expect.stringContaining('"x-trace" is not') });
      expect(String(error)).not.toContain('hunter2');
    },
  );
});
