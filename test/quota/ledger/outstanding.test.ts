import { describe, expect, test } from 'vitest';
import { Outstanding } from '../../../src/quota/ledger/outstanding.ts';

describe('Outstanding', () => {
  test('waits a second for the answer to a probe, or twice as long as answers usually take', () => {
    const outstanding = new Outstanding();
    expect([outstanding.usualMs, outstanding.patienceMs]).toEqual([0, 1_000]);
    outstanding.observe(0, 100);
    expect([outstanding.usualMs, outstanding.patienceMs]).toEqual([100, 1_000]);
    outstanding.observe(0, 8_100);
    expect([outstanding.usualMs, outstanding.patienceMs]).toEqual([1_100, 2_200]);
  });

  test('waits twice as long after each probe that has no answer, up to eight times as long', () => {
    const outstanding = new Outstanding();
    const waits = Array.from({ length: 6 }, (_, n) => {
      outstanding.send(1_000 * n, true);
      return outstanding.patienceMs;
    });
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    outstanding.observe(5_000, 5_100);
    expect(outstanding.patienceMs).toBe(1_000);
  });

  test('does not count a request towards the wait that was not sent after all', () => {
    const outstanding = new Outstanding();
    outstanding.send(0, true);
    outstanding.unsend(outstanding.send(1_000, true));
    expect(outstanding.patienceMs).toBe(1_000);
  });

  test('counts the requests that an answer may or may not include: all others that were not settled when its request was sent', () => {
    const outstanding = new Outstanding();
    const first = outstanding.send(0, true);
    const second = outstanding.send(10, true);
    expect([outstanding.concurrentWith(first), outstanding.concurrentWith(second), outstanding.unanswered]).toEqual([1, 1, 2]);
    outstanding.observe(first.atMs, 20);
    outstanding.lose();
    const third = outstanding.send(30, true);
    expect([outstanding.concurrentWith(first), outstanding.concurrentWith(third), outstanding.unanswered]).toEqual([2, 0, 1]);
  });

  test('says whether a request since an instant has no answer yet', () => {
    const outstanding = new Outstanding();
    outstanding.send(10, true);
    expect([outstanding.isSince(10), outstanding.isSince(11)]).toEqual([true, false]);
    outstanding.lose();
    expect(outstanding.isSince(10)).toBe(false);
  });

  test('forgets a request that was not sent after all, with its instant', () => {
    const outstanding = new Outstanding();
    outstanding.send(10, true);
    const second = outstanding.send(20, true);
    outstanding.unsend(second);
    expect([outstanding.unanswered, outstanding.lastSentAtMs]).toEqual([1, 10]);
  });
});
