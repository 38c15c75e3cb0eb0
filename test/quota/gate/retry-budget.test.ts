import fc from 'fast-check';
import { ServerError } from 'petstore-inventory';
import { expect, test } from 'vitest';
import { Emitter } from '../../../src/events.ts';
import { RetryBudget } from '../../../src/quota/gate/retry-budget.ts';
import { Ledger } from '../../../src/quota/ledger/ledger.ts';
import { makeCall, makeListCall } from '../../support/call.ts';
import { FUZZ } from '../../support/fuzz.ts';
import { answerNow, FREE } from './gate-kit.ts';

const FAILURE = new ServerError('x', { status: 500 });

/** A budget from which this many retries were taken, as far as it had them. */
function spent(retries: number): RetryBudget {
  const budget = new RetryBudget(new Ledger({ plan: FREE, concurrency: 64, share: 1 }));
  for (let n = 0; n < retries; n++) budget.pay(makeListCall(), FAILURE);
  return budget;
}

function earn(budget: RetryBudget, answers: number): void {
  for (let n = 0; n < answers; n++) budget.prove(makeListCall());
}

test('holds ten retries, and not an eleventh', () => {
  const budget = spent(9);
  expect(budget.state).toEqual({ available: 1, capacity: 10 });
  expect(budget.pay(makeListCall(), FAILURE)).toBeUndefined();
  expect(budget.pay(makeListCall(), FAILURE)).toBeInstanceOf(ServerError);
});

test('gets back a retry for seven good answers, not for six', () => {
  const budget = spent(10);
  earn(budget, 6);
  expect(budget.state.available).toBe(0);
  earn(budget, 1);
  expect(budget.state.available).toBe(1);
});

test('charges nothing for a retry that is refused', () => {
  const budget = spent(30);
  earn(budget, 7);
  expect(budget.state.available).toBe(1);
});

test('never holds more than ten', () => {
  const budget = spent(1);
  earn(budget, 100);
  expect(budget.state.available).toBe(10);
});

test.each([
  [[400, 401, 404, 409, 422], 10],
  [[200, 408, 425, 429, 500, 503], 9],
])('after one retry and seven answers of each status of %j, %i retries are left', (statuses, left) => {
  const budget = spent(1);
  for (const status of statuses) for (let n = 0; n < 7; n++) budget.observe(makeListCall(), answerNow({ status }));
  expect(budget.state.available).toBe(left);
});

test('reports once that no retry is left, and once that half of them are back', () => {
  const budget = spent(0);
  const emitter = new Emitter();
  const told: string[] = [];
  emitter.on('retryBudget', ({ state, available }) => told.push(`${state} ${available}`));
  const calls = Array.from({ length: 10 }, () => makeCall({ emitter }));
  for (const call of calls) budget.pay(call, FAILURE);
  for (const call of calls) budget.settle(call);
  expect(told).toEqual(['empty 0', 'refilled 5']);
});

test('a call that ends before its retry is sent gives the retry back', () => {
  const budget = spent(0);
  const [ended, sent] = [makeListCall(), makeListCall()];
  expect([budget.pay(ended, FAILURE), budget.pay(sent, FAILURE), budget.state.available]).toEqual([undefined, undefined, 8]);
  sent.sent();
  for (const call of [ended, sent]) budget.settle(call);
  expect(budget.state.available).toBe(9);
});

test('pays for no more retries than ten and one for every seven good answers, in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 500 }), (events) => {
      const budget = spent(0);
      const refusals = events.map((isGood) => (isGood ? earn(budget, 1) : budget.pay(makeListCall(), FAILURE)));
      const good = events.filter((isGood) => isGood).length;
      const paid = events.length - good - refusals.filter((refusal) => refusal).length;
      expect(paid).toBeLessThanOrEqual(10 + good / 7);
      expect(budget.state.available >= 0 && budget.state.available <= 10).toBe(true);
    }),
    FUZZ,
  );
});
