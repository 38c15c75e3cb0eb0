import { describe, expect, test } from 'vitest';
import { Redactor } from '../../src/redactor.ts';
import { type FailedAnswer, statusFailure } from '../../src/transport/status-failure.ts';
import { makeCall } from '../support/call.ts';

const NOW_MS = Date.parse('2026-11-21T10:00:00Z');
const KEY = 'psk_hunter2';
const ADDRESS = 'https://pets.test/v1/inventory/42';

/** The failure of an update's first attempt that was answered so. */
function failureOf(status: number, failed: Partial<FailedAnswer> = {}, answer: Partial<FailedAnswer['answer']> = {}, key = KEY) {
  const call = makeCall();
  call.sent();
  const redactor = new Redactor();
  redactor.learn(key);
  const nothing = { bodyText: '', location: null, address: ADDRESS, reopensAtMs: undefined };
  return statusFailure({ ...nothing, ...failed, answer: { status, receivedAtMs: NOW_MS, ...answer } }, call, redactor);
}

describe('statusFailure', () => {
  test.each([
    [400, 'BadRequestError', 'bad-request', 'rejected'],
    [401, 'AuthenticationError', 'authentication', 'rejected'],
    [404, 'NotFoundError', 'not-found', 'rejected'],
    [429, 'RateLimitError', 'rate-limit', 'rejected'],
    [500, 'ServerError', 'server', 'unknown'],
    [501, 'ServerError', 'server', 'rejected'],
    [503, 'ServerError', 'server', 'unknown'],
    [505, 'ServerError', 'server', 'rejected'],
    [599, 'ServerError', 'server', 'unknown'],
    [999, 'ServerError', 'server', 'unknown'],
    [301, 'UnexpectedStatusError', 'unexpected-status', 'rejected'],
    [403, 'UnexpectedStatusError', 'unexpected-status', 'rejected'],
    [408, 'UnexpectedStatusError', 'unexpected-status', 'rejected'],
    [418, 'UnexpectedStatusError', 'unexpected-status', 'rejected'],
    [422, 'UnexpectedStatusError', 'unexpected-status', 'rejected'],
  ])('makes of %i a %s of the kind %s, the change %s', (status, name, kind, outcome) => {
    expect(failureOf(status)).toMatchObject({ name, kind, status, outcome, code: `http_${status}`, attempts: 1, petId: 42 });
  });

  test("says what could not be done, the status, the body's code and message", () => {
    const failure = failureOf(404, { bodyText: '{"code":"pet_missing","message":"No such pet","status":404}' });
    expect(failure).toMatchObject({
      code: 'pet_missing',
      message: 'Cannot update pet 42: the service answered 404 pet_missing: No such pet',
    });
    expect(failure.bodyText).toBeUndefined();
  });

  test.each([
    ['{"code":"x"}', 'the service answered 500 x', 'x'],
    ['{"message":"It broke"}', 'the service answered 500: It broke', 'http_500'],
    ['', `the service answered 500 without an Error body at ${ADDRESS}`, 'http_500'],
    ['<html>', `the service answered 500 without an Error body at ${ADDRESS}`, 'http_500'],
  ])('reads the valid fields of the body %j', (bodyText, message, code) => {
    expect(failureOf(500, { bodyText })).toMatchObject({ message: `Cannot update pet 42: ${message}`, code });
  });

  test.each(['listInventory', 'streamInventory'] as const)('says after a 404 for %s that the address is to be checked', (operation) => {
    const call = makeCall({ operation, petId: undefined });
    const failed = { bodyText: '', location: null, address: ADDRESS, reopensAtMs: undefined };
    const failure = statusFailure({ ...failed, answer: { status: 404, receivedAtMs: NOW_MS } }, call, new Redactor());
    expect(failure.message).toMatch(/at https:\S+; check the address: the list exists even if there are no pets$/);
  });

  test.each([
    [403, '', '; a proxy or firewall in between may have answered'],
    [403, '{"code":"forbidden"}', ''],
    [407, '', '; a proxy in between wants a user and a password'],
    [404, '', ''],
  ])('says that a %i with the body %j may come from a proxy', (status, bodyText, hint) => {
    expect(failureOf(status, { bodyText }).message.replace(/^[^;]+/, '')).toBe(hint);
  });

  test('prefers the status line to the body', () => {
    expect(failureOf(404, { bodyText: '{"code":"x","message":"y","status":500}' })).toMatchObject({ name: 'NotFoundError', status: 404 });
  });

  test('keeps the beginning of a body that is not an Error body', () => {
    expect(failureOf(502, { bodyText: `<h1>Bad gateway for ${KEY}</h1>` }).bodyText).toBe('<h1>Bad gateway for ***</h1>');
  });

  test('has the Retry-After, and the time at which the same call may be sent', () => {
    expect(failureOf(429, {}, { retryAfterMs: 30_000 })).toMatchObject({
      retryAfterMs: 30_000,
      retryAt: new Date(NOW_MS + 30_000),
      message: expect.stringContaining('(nothing may be sent until 2026-11-21T10:00:30.000Z)'),
    });
    expect(failureOf(429, { reopensAtMs: NOW_MS + 31_000 }, { retryAfterMs: 30_000 })).toMatchObject({
      retryAt: new Date(NOW_MS + 31_000),
    });
    expect(failureOf(429)).toMatchObject({ retryAt: undefined, retryAfterMs: undefined });
  });

  test('may be sent again after its own Retry-After, also if another answer has closed the gate for less', () => {
    expect(failureOf(408, { reopensAtMs: NOW_MS + 5_000 }, { retryAfterMs: 30_000 }).retryAt).toEqual(new Date(NOW_MS + 30_000));
  });

  test.each([429, 503])('says after a %i until when nothing may be sent', (status) => {
    expect(failureOf(status, { bodyText: '{"code":"x"}', reopensAtMs: NOW_MS + 5_000 }).message).toBe(
      `Cannot update pet 42: the service answered ${status} x (nothing may be sent until 2026-11-21T10:00:05.000Z)`,
    );
  });

  test.each([400, 500, 501])('says after a %i with Retry-After how long the service asks to wait: other calls may be sent', (status) => {
    expect(failureOf(status, { bodyText: '{"code":"x"}' }, { retryAfterMs: 5_000 }).message).toBe(
      `Cannot update pet 42: the service answered ${status} x (wait until 2026-11-21T10:00:05.000Z)`,
    );
  });

  test('does not show a key that is part of the address', () => {
    expect(failureOf(404, { address: `https://pets.test/${KEY}/v1/inventory` }).message).toBe(
      'Cannot update pet 42: the service answered 404 without an Error body at https://pets.test/***/v1/inventory',
    );
  });

  test('has the values of X-RateLimit-*', () => {
    const rateLimit = { limit: 60, remaining: 0, resetAtMs: NOW_MS };
    expect(failureOf(429, {}, rateLimit).rateLimit).toEqual({ limit: 60, remaining: 0, resetAt: new Date(NOW_MS) });
    expect(failureOf(429).rateLimit).toBeUndefined();
  });

  test.each([
    ['https://other.test/v1/inventory', 'https://other.test/v1/inventory'],
    ['/v2/inventory', 'https://pets.test/v2/inventory'],
    ['43', 'https://pets.test/v1/inventory/43'],
    ['https://user:secret@other.test:8443/login?token=secret#secret', 'https://other.test:8443/login'],
    [`https://other.test/${KEY}`, 'https://other.test/***'],
  ])('shows the location %s as %s, and says that it is not followed', (location, told) => {
    expect(failureOf(307, { location })).toMatchObject({
      location: told,
      message: `Cannot update pet 42: the service answered 307 without an Error body at ${ADDRESS}; the redirect to ${told} is not followed`,
    });
  });

  test.each([
    ['part-one?part-two', 'https://other.test/part-one?part-two', 'https://other.test/***'],
    ['part-one#part-two', '/part-one#part-two/x', 'https://pets.test/***/x'],
    ['part-one\\part-two', 'https://other.test/part-one\\part-two', 'https://other.test/***'],
    ['part-one@part-two', 'https://part-one@part-two/', 'https://***/'],
  ])('hides a key such as %s before it reads the location', (key, location, told) => {
    expect(failureOf(302, { location }, {}, key)).toMatchObject({ location: told, message: expect.stringContaining(`to ${told} is`) });
  });

  test.each([null, 'https://', 'http://[x'])('shows no location for %j', (location) => {
    expect(failureOf(302, { location })).toMatchObject({ location: undefined });
  });

  test('recognizes a redirect whose status a browser hides', () => {
    expect(failureOf(0)).toMatchObject({ name: 'UnexpectedStatusError', message: expect.stringContaining('answered with a redirect') });
  });
});
