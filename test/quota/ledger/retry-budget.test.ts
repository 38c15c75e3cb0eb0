import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RetryBudget } from '../../../src/quota/ledger/retry-budget.ts';
import { FUZZ } from '../../support/fuzz.ts';

/** A budget from which this many retries were taken, as far as it had them. */
function spent(retries: number): RetryBudget {
  const budget = new RetryBudget();
  for (let n = 0; n < retries; n++) budget.spend();
  return budget;
}

function earn(budget: RetryBudget, answers: number): void {
  for (let n = 0; n < answers; n++) budget.earn();
}

describe('RetryBudget', () => {
  test('holds ten retries, and not an eleventh', () => {
    const budget = spent(9);
    expect([budget.available, budget.capacity]).toEqual([1, 10]);
    expect([budget.spend(), budget.spend()]).toEqual([true, false]);
  });

  test('gets back a retry for seven good answers, not for six', () => {
    const budget = spent(10);
    earn(budget, 6);
    expect(budget.available).toBe(0);
    earn(budget, 1);
    expect(budget.available).toBe(1);
  });

  test('charges nothing for a retry that is refused', () => {
    const budget = spent(30);
    earn(budget, 7);
    expect(budget.available).toBe(1);
  });

  test('gets back a retry that was not made, and never holds more than ten', () => {
    const budget = spent(1);
    budget.giveBack();
    expect(budget.available).toBe(10);
    budget.giveBack();
    earn(budget, 100);
    expect(budget.available).toBe(10);
  });

  test('is empty from its last retry until half of the retries are back', () => {
    const budget = spent(9);
    const states = [budget.isEmpty];
    budget.spend();
    states.push(budget.isEmpty);
    earn(budget, 34);
    states.push(budget.isEmpty);
    earn(budget, 1);
    states.push(budget.isEmpty);
    expect(states).toEqual([false, true, true, false]);
  });

  test('pays for no more retries than ten and one for every seven good answers, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 500 }), (events) => {
        const budget = new RetryBudget();
        const paid = events.map((isGood) => (isGood ? budget.earn() : budget.spend())).filter((isPaid) => isPaid === true).length;
        const good = events.filter((isGood) => isGood).length;
        expect(paid).toBeLessThanOrEqual(10 + good / 7);
        expect(budget.available >= 0 && budget.available <= 10).toBe(true);
      }),
      FUZZ,
    );
  });
});
