import {
  AuthenticationError,
  ConnectionError,
  type PetStoreError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedStatusError,
} from 'petstore-inventory';
import { expect, test } from 'vitest';
import { refusalInOutage, refusalToRetry, refusalToWait } from '../../../src/quota/gate/refusal.ts';
import { makeListCall } from '../../support/call.ts';

test('refusalInOutage has no status if none is known', () => {
  const refusal = refusalInOutage(makeListCall(), undefined, undefined);
  expect(refusal).toMatchObject({ name: 'ServerError', status: undefined, code: undefined });
});

test.each([
  [86_400_000, 120_000, '(24 h, longer than `maxWaitMs` of 2 min)'],
  [120_500, 120_000, '(2 min 1 s, longer than `maxWaitMs` of 2 min)'],
  [120_500, 120_100, '(400 ms longer than `maxWaitMs` of 2 min 1 s)'],
])('refusalToWait says how long a wait of %i ms is, and that it exceeds %i ms', (waitMs, maxWaitMs, said) => {
  const holdup = { why: "this key's quota is used up until 2026-11-22T00:00:00.000Z", until: new Date('2026-11-22T00:00:00Z') };
  expect(refusalToWait(makeListCall({ maxWaitMs }), holdup, waitMs).message).toBe(`Cannot list the inventory: ${holdup.why} ${said}`);
});

test('refusalToWait after a 401 stays an AuthenticationError', () => {
  const call = makeListCall();
  call.lastFailure = new AuthenticationError('x', { status: 401 });
  expect(refusalToWait(call, { why: 'x', until: new Date() }, 200_000)).toMatchObject({ name: 'AuthenticationError', status: 401 });
});

test.each([AuthenticationError, ConnectionError, RateLimitError, ServerError, TimeoutError, UnexpectedStatusError])(
  'refusalToRetry after a %o has its class, its status and its message, and the failure as its cause',
  (Failure) => {
    const last: PetStoreError = new Failure('It failed', { status: 503, retryAfterMs: 2_000, retryAt: new Date(60_000) });
    const refusal = refusalToRetry(makeListCall(), last);
    expect(refusal).toBeInstanceOf(Failure);
    expect(refusal).toMatchObject({ status: 503, retryAfterMs: 2_000, retryAt: new Date(60_000), cause: last });
    expect(refusal.message).toBe('It failed; not tried again: too many requests fail, so retries are limited until more succeed');
  },
);
