import { ServerError } from 'petstore-inventory';
import { expect, test } from 'vitest';
import { Emitter } from '../../../src/events.ts';
import { RetryLimit } from '../../../src/quota/gate/retry-limit.ts';
import { Ledger } from '../../../src/quota/ledger/ledger.ts';
import { makeCall, makeListCall } from '../../support/call.ts';
import { answerNow, FREE } from './gate-kit.ts';

const FAILURE = new ServerError('x', { status: 500 });

function makeLimit(): RetryLimit {
  return new RetryLimit(new Ledger({ plan: FREE, concurrency: 64, share: 1 }));
}

test.each([
  [[400, 401, 404, 409, 422], 10],
  [[200, 408, 425, 429, 500, 503], 9],
])('after one retry and seven answers of each status of %j, %i retries are left', (statuses, left) => {
  const limit = makeLimit();
  limit.pay(makeListCall(), FAILURE);
  for (const status of statuses) for (let n = 0; n < 7; n++) limit.observe(makeListCall(), answerNow({ status }));
  expect(limit.state.available).toBe(left);
});

test('reports once that no retry is left, and once that half of them are back', () => {
  const limit = makeLimit();
  const emitter = new Emitter();
  const told: string[] = [];
  emitter.on('retryBudget', ({ state, available }) => told.push(`${state} ${available}`));
  const calls = Array.from({ length: 10 }, () => makeCall({ emitter }));
  for (const call of calls) limit.pay(call, FAILURE);
  for (const call of calls) limit.settle(call);
  expect(told).toEqual(['empty 0', 'refilled 5']);
});

test('a call that ends before its retry is sent gives the retry back', () => {
  const limit = makeLimit();
  const [ended, sent] = [makeListCall(), makeListCall()];
  expect([limit.pay(ended, FAILURE), limit.pay(sent, FAILURE), limit.state.available]).toEqual([undefined, undefined, 8]);
  sent.sent();
  for (const call of [ended, sent]) limit.settle(call);
  expect(limit.state.available).toBe(9);
});
