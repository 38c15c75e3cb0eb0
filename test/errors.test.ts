import { inspect } from 'node:util';
import {
  AuthenticationError,
  BadRequestError,
  ConfigurationError,
  ConnectionError,
  InvalidArgumentError,
  InvalidResponseError,
  isPetStoreError,
  NotFoundError,
  PetStoreError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedStatusError,
} from 'petstore-inventory';
import { describe, expect, test } from 'vitest';
import * as errors from '../src/errors.ts';
import { textOf } from '../src/thrown.ts';
import { chunked, failure, json, networkError, text } from './support/answers.ts';
import { KEY, scriptedClient } from './support/client.ts';
import { importAnew } from './support/other-process.ts';
import { rejectionOf } from './support/outcome.ts';
import type { Answering } from './support/scripted-fetch.ts';

const OF_EVERY_CLASS = [
  [new BadRequestError('x'), 'BadRequestError', 'bad-request'],
  [new AuthenticationError('x'), 'AuthenticationError', 'authentication'],
  [new NotFoundError('x'), 'NotFoundError', 'not-found'],
  [new RateLimitError('x'), 'RateLimitError', 'rate-limit'],
  [new ServerError('x'), 'ServerError', 'server'],
  [new UnexpectedStatusError('x'), 'UnexpectedStatusError', 'unexpected-status'],
  [new ConnectionError('x'), 'ConnectionError', 'connection'],
  [new TimeoutError('x'), 'TimeoutError', 'timeout'],
  [new InvalidResponseError('x', { reason: 'schema' }), 'InvalidResponseError', 'invalid-response'],
  [new InvalidArgumentError('x', { argument: 'petId' }), 'InvalidArgumentError', 'invalid-argument'],
  [new ConfigurationError('x', { option: 'plan' }), 'ConfigurationError', 'configuration'],
] as const;

describe('every class of error', () => {
  test.each(OF_EVERY_CLASS)('%o has the literal name %s and the kind %s', (error, name, kind) => {
    expect([error.name, error.kind, Object.hasOwn(error, 'name')]).toEqual([name, kind, true]);
    expect(error).toBeInstanceOf(PetStoreError);
    expect(error).toBeInstanceOf(Error);
  });

  test('is in the union and in the table, and no other class is exported', () => {
    const exported = Object.keys(errors).filter((name) => name.endsWith('Error') && name !== 'PetStoreError' && name !== 'isPetStoreError');
    expect(exported.sort()).toEqual(OF_EVERY_CLASS.map(([, name]) => name).sort());
  });

  test('has every field of the contract', () => {
    const details = {
      code: 'rate_limited',
      status: 429,
      operation: 'updateInventory',
      petId: 42n,
      attempts: 6,
      retryAt: new Date(1),
      retryAfterMs: 1_000,
      rateLimit: { limit: 60, remaining: 0, resetAt: new Date(2) },
      bodyText: 'text',
      outcome: 'rejected',
    } as const;
    const cause = new Error('cause');
    expect(new RateLimitError('x', { ...details, cause })).toMatchObject({ ...details, cause, message: 'x' });
    expect(new RateLimitError('x')).toMatchObject({ attempts: 0, status: undefined, code: undefined, outcome: undefined });
    expect(new RateLimitError('x')).not.toHaveProperty('cause');
  });

  test('has its own fields if the contract says so', () => {
    const problems = [{ path: '[0].petId', message: 'is missing' }];
    expect(new InvalidResponseError('x', { reason: 'schema', problems })).toMatchObject({ reason: 'schema', problems });
    expect(new InvalidResponseError('x', { reason: 'too-large' }).problems).toEqual([]);
    expect(new UnexpectedStatusError('x', { location: 'https://other.test/' }).location).toBe('https://other.test/');
    expect(new InvalidArgumentError('x', { argument: 'petId' }).argument).toBe('petId');
    expect(new ConfigurationError('x', { option: 'plan' }).option).toBe('plan');
  });
});

describe('isPetStoreError', () => {
  test.each(OF_EVERY_CLASS)('is true for %o', (error) => {
    expect(isPetStoreError(error)).toBe(true);
  });

  test('is true for errors of another copy of the package, for which instanceof is false', async () => {
    const other = await importAnew();
    const error = new other.NotFoundError('x');
    expect([error instanceof NotFoundError, isPetStoreError(error), other.isPetStoreError(new NotFoundError('x'))]).toEqual([
      false,
      true,
      true,
    ]);
  });

  test.each([
    undefined,
    null,
    'NotFoundError',
    new Error('x'),
    { name: 'NotFoundError', kind: 'not-found' },
    new DOMException('x', 'AbortError'),
  ])('is false for %o', (thrown) => {
    expect(isPetStoreError(thrown)).toBe(false);
  });

  test('is false for a revoked proxy, of which nothing can be read', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(isPetStoreError(proxy)).toBe(false);
  });
});

describe('toJSON', () => {
  test('contains everything that is known, but no stack and no cause', () => {
    const error = new InvalidResponseError('does not match', {
      reason: 'schema',
      problems: [{ path: 'petId', message: 'is missing' }],
      petId: 9_007_199_254_740_993n,
      operation: 'updateInventory',
      attempts: 1,
      status: 200,
      outcome: 'unknown',
      retryAt: new Date(0),
      cause: new Error('secret cause'),
    });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'InvalidResponseError',
      kind: 'invalid-response',
      message: 'does not match',
      reason: 'schema',
      problems: [{ path: 'petId', message: 'is missing' }],
      petId: '9007199254740993',
      operation: 'updateInventory',
      attempts: 1,
      status: 200,
      outcome: 'unknown',
      retryAt: '1970-01-01T00:00:00.000Z',
    });
  });

  test('contains no field whose value is not known', () => {
    expect(Object.keys(new UnexpectedStatusError('x').toJSON())).toEqual(['name', 'kind', 'message', 'attempts']);
  });

  test('contains no cause, even if it was assigned later', () => {
    const error = Object.assign(new UnexpectedStatusError('x'), { cause: { headers: { authorization: 'Bearer psk_hunter2' } } });
    expect(JSON.stringify(error)).not.toContain('psk_hunter2');
  });

  test('leaves a petId within the safe integers a number', () => {
    expect(new NotFoundError('x', { petId: 42 }).toJSON()).toEqual({
      name: 'NotFoundError',
      kind: 'not-found',
      message: 'x',
      petId: 42,
      attempts: 0,
    });
  });
});

describe('an error of a call', () => {
  const echo: Answering = ({ headers, url }) =>
    json(404, { code: headers.authorization, message: `${url} ${headers.authorization} ${encodeURIComponent(KEY)}` });
  const quoting = Object.assign(networkError('EKEY', `Invalid header value: Bearer ${KEY}`), {
    request: { headers: { authorization: KEY } },
  });

  const failing: [string, Answering][] = [
    ['an Error body that echoes the key', echo],
    ['a body that is no Error body and echoes the key', ({ headers }) => text(400, `<p>${headers.authorization}</p>`)],
    [
      'a redirect to an address with the key',
      () => text(302, null, { location: `https://${KEY}@other.test/${encodeURIComponent(KEY)}?key=${KEY}` }),
    ],
    ['a list whose fields hold the key', ({ headers }) => json(200, [{ petId: headers.authorization, quantity: 1, status: 'sold' }])],
    ['a body that is no JSON and holds the key', ({ headers }) => text(200, `[${headers.authorization}`)],
    ['a library that quotes the key', () => Promise.reject(quoting)],
    ['a body that breaks with the key', () => new Response(chunked(['['], 'break'))],
  ];

  test.each(failing)('never shows the key in message, stack, cause, JSON or inspect, after %s', async (_what, answer) => {
    const { client } = scriptedClient([answer], { maxRetries: 0 });
    const error = await rejectionOf(client.listInventory());
    const shown = [String(error), JSON.stringify(error), inspect(error, { depth: 20, showHidden: true, getters: true })].join('\n');
    expect(isPetStoreError(error)).toBe(true);
    expect(shown).not.toContain(KEY);
    expect(shown).not.toContain(encodeURIComponent(KEY));
  });

  test.each(failing)('holds no Request, Response, Headers or options, after %s', async (_what, answer) => {
    const { client } = scriptedClient([answer], { maxRetries: 0 });
    const shown = inspect(await rejectionOf(client.listInventory()), { depth: 20, showHidden: true });
    expect(shown).not.toMatch(/\b(Request|Response|Headers|AbortSignal|PetStoreClient)\b.*\{|authorization|maxRetries/i);
  });

  test('has a stack with the message, the place where it was made, and the code that called the client', async () => {
    const { client } = scriptedClient([() => failure(404)]);
    const nightlyCheck = async () => {
      await client.listInventory();
    };
    const stack = textOf(await rejectionOf(nightlyCheck()), 'stack');
    expect(stack).toMatch(/^NotFoundError: Cannot list the inventory: .*\n.*\/src\/transport\/.*at (?:async )?nightlyCheck /s);
  });
});
