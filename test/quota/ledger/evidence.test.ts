import { describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/contract/limits.ts';
import { SlidingCounter } from '../../../src/quota/ledger/candidates/sliding-counter.ts';
import { QuotaWindow } from '../../../src/quota/ledger/quota-window.ts';
import { play } from './model.ts';
import { NOON_MS, Story } from './story.ts';

const HOUR_MS = 3_600_000;

const RESET = { resetAtMs: NOON_MS + 60_000 };

describe('Ledger, after it observed a Limit,', () => {
  test('believes the first one, and one that falls', () => {
    const story = new Story({ plan: undefined }).answer({ limit: 300, remaining: 299, ...RESET });
    expect([story.limit, story.answer({ limit: 100, remaining: 98, ...RESET }).limit]).toEqual([300, 100]);
  });

  test('believes one that rises when a second answer repeats it, even if others between them are silent about it', () => {
    const raised = (...limits: (number | undefined)[]) => {
      const story = new Story({ plan: undefined }).answer({ limit: 60, remaining: 59, ...RESET });
      return limits.map((limit, sent) => story.answer({ ...RESET, ...(limit && { limit, remaining: 998 - sent }) }).limit);
    };
    expect(raised(1_000, 1_000)).toEqual([60, 1_000]);
    expect(raised(1_000, undefined, 1_000)).toEqual([60, 60, 1_000]);
  });

  test('does not believe one that rises while Remaining fits the smaller one', () => {
    const story = new Story({ plan: undefined }).answer({ limit: 100, remaining: 99, ...RESET });
    const raised = [98, 97, 96].map((remaining) => story.answer({ limit: 999_999, remaining, ...RESET }).limit);
    expect(raised).toEqual([100, 100, 100]);
  });

  test('learns without a Limit that the limit is larger than Remaining', () => {
    expect(new Story({ plan: undefined }).answer({ remaining: 299, ...RESET }).limit).toBe(300);
    expect(new Story({ plan: 'unlimited' }).answer({ remaining: 5, ...RESET }).left).toBe(5);
  });
});

describe('Ledger, after it observed a Remaining,', () => {
  test('waits for a second answer if nothing explains so large a Remaining', () => {
    const story = new Story();
    for (let left = 59; left >= 10; left--) story.answer({ limit: 60, remaining: left, ...RESET });
    expect(story.answer({ limit: 60, remaining: 60, ...RESET }).left).toBe(9);
    expect(story.answer({ limit: 60, remaining: 8, ...RESET }).left).toBe(8);
  });

  test('reports the window of an unexplained Remaining, so that other processes know its Reset', () => {
    const story = new Story();
    for (let left = 59; left >= 10; left--) story.answer({ limit: 60, remaining: left, resetAtMs: NOON_MS + 10_000 });
    const next = { limit: 60, remaining: 59, resetAtMs: NOON_MS + 15_000 };
    story.answer(next);
    expect(story.ledger.windows.observed(story.nowMs).minute).toMatchObject({ ...next, ageMs: 0 });
  });

  test('waits for the Reset of a window if the service counts no failed request', () => {
    const story = new Story();
    for (let remaining = 11; remaining >= 0; remaining--)
      story.answer({ limit: 60, remaining, ...RESET }).answer({ status: 404, limit: 60, remaining, ...RESET });
    expect(story.ledger.look(story.nowMs, 0)).toMatchObject({ free: 0, at: expect.closeTo(NOON_MS + 60_000, -2) });
  });

  test('uses the next window if the last one only seemed to begin late, after failures without headers', () => {
    const story = new Story().answer({ limit: 60, remaining: 59, ...RESET });
    for (const atMs of [70_000, 135_000]) {
      story.nowMs = NOON_MS + atMs;
      story.answer({ status: 503 });
    }
    story.nowMs = NOON_MS + 150_000;
    for (let remaining = 59; remaining >= 0; remaining--) story.answer({ limit: 60, remaining, resetAtMs: NOON_MS + 180_000 });
    expect(story.free).toBe(0);
    story.nowMs = NOON_MS + 182_000;
    expect(story.free).toBe(1);
  });

  test('keeps two requests in flight on a plan of five, and eight on one of sixty, while no header reports the day', () => {
    const mostOn = (requestsPerMinute: number) =>
      new Story({ plan: { requestsPerMinute, requestsPerDay: 1_000 } }).answer({
        limit: requestsPerMinute,
        remaining: requestsPerMinute - 1,
        ...RESET,
      }).free;
    expect([mostOn(5), mostOn(60)]).toEqual([2, 8]);
  });
});

describe('Ledger, after a refusal while no header reports what is left,', () => {
  test('allows three quarters of what passed in a minute, until a Remaining is observed', () => {
    const story = new Story({ plan: 'unlimited' });
    for (let sent = 0; sent < 20; sent++) story.answer({});
    story.answer({ status: 429, retryAfterMs: 30_000 });
    story.nowMs += 61_000;
    story.answer({});
    for (let sent = 1; sent < 15; sent++) story.answer({});
    expect(story.free).toBeLessThanOrEqual(2);
    expect(story.left).toBeLessThanOrEqual(2);
    const reported = { limit: 1_000, resetAtMs: story.nowMs + 60_000 };
    story.answer({ ...reported, remaining: 900 });
    expect([story.left, story.free]).toEqual([900, 5]);
  });

  test('allows three quarters of what passed in a minute, even if headers once showed that others send too', () => {
    const story = new Story({ plan: 'unlimited' });
    for (const remaining of [900, 890, 880]) story.answer({ limit: 1_000, remaining, ...RESET });
    story.nowMs += 120_000;
    for (let sent = 0; sent < 20; sent++) story.answer({});
    story.answer({ status: 429, retryAfterMs: 30_000 });
    story.nowMs += 61_000;
    for (let sent = 0; sent < 15; sent++) story.answer({});
    expect(story.left).toBeLessThanOrEqual(2);
  });

  test('takes no limit from two refusals that end within seconds, as those of a mock, but from the third', () => {
    const story = new Story({ plan: 'unlimited' });
    const left = [1, 2, 3].map(() => {
      for (let sent = 0; sent < 10; sent++) story.answer({});
      story.answer({ status: 429, retryAfterMs: 1_000 });
      story.nowMs += 1_500;
      story.answer({});
      return story.left;
    });
    expect(left).toEqual([undefined, undefined, 0]);
  });
});

describe('QuotaWindow, at a turn,', () => {
  const reading = { status: 200, serverMs: NOON_MS, unanswered: 0, concurrent: 0, retryAfterMs: undefined };
  const resetAt = (atMs: number) => ({ atMs, endsAtMs: atMs, slackMs: 0 });

  test('believes that what was in flight counted before it if the answer names the old Reset', () => {
    const window = new QuotaWindow(60, 60_000);
    const endMs = NOON_MS + 10_000;
    const answer = (sentAtMs: number, remaining: number, resetMs: number, nowMs: number) =>
      window.observe({ ...reading, remaining, reset: resetAt(resetMs), sentAtMs, nowMs });
    window.add(NOON_MS);
    answer(NOON_MS, 59, endMs, NOON_MS + 50);
    window.add(endMs - 50);
    const nextMs = endMs + 100;
    window.turn(nextMs, 1);
    expect(window.free(nextMs)).toBe(59);
    answer(endMs - 50, 58, endMs, nextMs);
    expect(window.free(nextMs)).toBe(60);
  });

  test('takes what others sent along into the next window of a weighted counter, even if nothing was asked for longer than a minute', () => {
    const window = new QuotaWindow(5, 60_000);
    window.add(NOON_MS);
    window.observe({ ...reading, remaining: 0, reset: resetAt(NOON_MS + 57_000), sentAtMs: NOON_MS, nowMs: NOON_MS });
    const laterMs = NOON_MS + 69_000;
    window.turn(laterMs, 0);
    const counter = window.candidates.find((candidate) => candidate instanceof SlidingCounter);
    expect(counter?.room(laterMs)).toBeCloseTo(5 - 5 * (48 / 60), 2);
  });

  test('sends a probe after a pause if a weighted counter has shown that others send', () => {
    const window = new QuotaWindow(5, 60_000);
    window.add(NOON_MS);
    window.observe({ ...reading, remaining: 0, reset: resetAt(NOON_MS + 57_000), sentAtMs: NOON_MS, nowMs: NOON_MS });
    for (const candidate of window.candidates) candidate.doubt = candidate instanceof SlidingCounter ? 0 : 4;
    expect(window.turn(NOON_MS + 69_000, 0)).toBe(true);
  });

  test('waits half a second beyond a Reset that came too early', () => {
    const window = new QuotaWindow(1, 60_000);
    const endMs = NOON_MS + 10_000;
    const answer = (status: number, sentAtMs: number, retryAfterMs?: number) =>
      window.observe({ ...reading, status, remaining: 0, reset: resetAt(endMs), retryAfterMs, sentAtMs, nowMs: sentAtMs + 50 });
    window.add(NOON_MS);
    answer(200, NOON_MS);
    window.turn(endMs + 10, 0);
    window.add(endMs + 10);
    answer(429, endMs + 10, 60_000);
    expect([window.isOver(endMs + 499), window.isOver(endMs + 500)]).toEqual([false, true]);
  });
});

describe('Ledger, of a weighted counter whose headers are missing,', () => {
  const world = {
    policy: 'sliding-counter',
    plan: { requestsPerMinute: 20 },
    startMs: NOON_MS + 20_000,
    skewMs: 0,
    delaysMs: [40, 60, 30],
    calls: 90,
  } as const;
  const without = (...names: (keyof Answer)[]) =>
    play({
      ...world,
      disturb: (answer) => Object.fromEntries(Object.entries(answer).filter(([name]) => !names.includes(name as keyof Answer))) as Answer,
    });

  test("learns from refusals alone how the service counts, and from the server's clock when it turns", () => {
    const { refusals, unfinished } = without('limit', 'remaining', 'resetAtMs');
    expect([unfinished, refusals.length <= 3]).toEqual([0, true]);
  });

  test('learns from Remaining how the service counts, though no Reset shows a turn', () => {
    const { refusals, unfinished } = without('resetAtMs');
    expect([unfinished, refusals.length <= 2]).toEqual([0, true]);
  });

  test('doubts the counter if a request passed for which it had no room', () => {
    const window = new QuotaWindow(10, 60_000);
    const outcome = { remaining: undefined, retryAfterMs: undefined, unanswered: 0, concurrent: 0 };
    const pass = (nowMs: number) => {
      window.add(nowMs);
      window.observeUnreported({ ...outcome, status: 200, sentAtMs: nowMs, nowMs });
    };
    window.alignCounter(NOON_MS, NOON_MS - 10_000);
    for (let sent = 0; sent < 10; sent++) pass(NOON_MS - 10_000);
    const counter = window.candidates.find((candidate) => candidate instanceof SlidingCounter);
    expect(counter?.doubt).toBe(0);
    for (let sent = 0; sent < 10; sent++) pass(NOON_MS + 1_000);
    expect(counter?.doubt).toBeGreaterThan(0);
  });
});

describe('Ledger, of a weighted counter,', () => {
  const resetAt = (atMs: number) => ({ atMs, endsAtMs: atMs, slackMs: 0 });
  const refusal = {
    ...{ status: 429, remaining: 0, retryAfterMs: undefined },
    ...{ serverMs: NOON_MS, sentAtMs: NOON_MS, nowMs: NOON_MS, unanswered: 0, concurrent: 0 },
  };

  test('meets one 429 at its first turn if others had sent before, and takes what they sent from the count once', () => {
    const world = {
      policy: 'sliding-counter',
      startMs: NOON_MS + 38_207,
      skewMs: 0,
      delaysMs: [67, 67, 20, 20, 52],
      othersMs: [0],
    } as const;
    expect(play({ ...world, plan: { requestsPerMinute: 3 }, calls: 7 }).refusals).toHaveLength(1);
  });

  test('is taken for the way of counting if a Retry-After ends seconds after the Reset, when windows and logs have a free slot', () => {
    const window = new QuotaWindow(5, 60_000);
    window.add(NOON_MS);
    window.observe({ ...refusal, reset: resetAt(NOON_MS + 60_000), retryAfterMs: 72_000 });
    expect(window.lead).toBeInstanceOf(SlidingCounter);
  });

  test('is taken for it if a window that has just turned is used up but for what the last one carries along', () => {
    const window = new QuotaWindow(60, 60_000);
    window.add(NOON_MS - 1_000);
    window.observe({ ...refusal, reset: resetAt(NOON_MS), retryAfterMs: 2_000, sentAtMs: NOON_MS - 1_000, nowMs: NOON_MS - 1_000 });
    const nowMs = NOON_MS + 1_000;
    window.turn(nowMs, 0);
    window.add(nowMs);
    window.observe({ ...refusal, status: 200, reset: resetAt(NOON_MS + 60_000), sentAtMs: nowMs, nowMs });
    expect([window.lead instanceof SlidingCounter, Math.round(window.freeAt(1, nowMs) - nowMs)]).toEqual([true, 1_010]);
  });

  test('is not taken for it if others use up a window that has not turned', () => {
    const window = new QuotaWindow(60, 60_000);
    const reset = resetAt(NOON_MS + 60_000);
    for (const [atMs, remaining, status] of [[0, 11, 200] as const, [1_000, 0, 429] as const, [3_000, 0, 200] as const]) {
      window.turn(NOON_MS + atMs, 0);
      window.add(NOON_MS + atMs);
      const retryAfterMs = status === 429 ? 2_000 : undefined;
      window.observe({ ...refusal, status, remaining, retryAfterMs, reset, sentAtMs: NOON_MS + atMs, nowMs: NOON_MS + atMs });
      if (status === 429) window.invite(NOON_MS + 3_000);
    }
    expect(window.candidates[0]?.doubt).toBeLessThan(2);
  });

  test('carries no refused request along, in the count that no header raises either', () => {
    const window = new QuotaWindow(2, 60_000);
    for (const [sentAtMs, remaining] of [[NOON_MS - 20_000, 1] as const, [NOON_MS - 19_000, 0] as const]) {
      window.add(sentAtMs);
      window.observe({ ...refusal, status: 200, remaining, reset: resetAt(NOON_MS), sentAtMs, nowMs: sentAtMs });
    }
    window.turn(NOON_MS + 100, 0);
    window.add(NOON_MS + 100);
    window.answer(NOON_MS + 100, NOON_MS + 100, { hasFailed: true });
    window.observe({ ...refusal, reset: resetAt(NOON_MS + 60_000), retryAfterMs: 30_000, sentAtMs: NOON_MS + 100, nowMs: NOON_MS + 100 });
    for (const candidate of window.candidates) candidate.doubt = candidate instanceof SlidingCounter ? 0 : 4;
    expect([window.ceiling(NOON_MS + 29_000), window.ceiling(NOON_MS + 31_000)]).toEqual([0, 1]);
  });

  test('takes the refusal of a request for which the minute had quota left for no sign of how the minute counts', () => {
    const window = new QuotaWindow(60, 60_000);
    const reading = { serverMs: NOON_MS, sentAtMs: NOON_MS - 100, unanswered: 0, concurrent: 0, nowMs: NOON_MS };
    const reset = { atMs: NOON_MS + 20_000, endsAtMs: NOON_MS + 20_000, slackMs: 0 };
    window.add(NOON_MS - 100);
    window.observe({ ...reading, status: 200, remaining: 59, reset, retryAfterMs: undefined });
    const doubts = () => window.candidates.map(({ doubt }) => doubt);
    const before = doubts();
    window.add(NOON_MS);
    const refusal = { ...reading, status: 429, reset: undefined, sentAtMs: NOON_MS, nowMs: NOON_MS + 100 };
    window.observe({ ...refusal, remaining: 59, retryAfterMs: 13_860_000 });
    expect(doubts()).toEqual(before);
    window.add(NOON_MS + 200);
    window.observe({ ...refusal, remaining: 0, retryAfterMs: 20_000 });
    expect(doubts()).not.toEqual(before);
  });
});

describe('Ledger, of a log whose Reset is that of a window, as some limiters send it,', () => {
  test('sends again as its requests leave, once the first answer after a turn still counts them', () => {
    const story = new Story();
    for (let left = 59; left >= 0; left--) story.answer({ limit: 60, remaining: left, ...RESET });
    story.nowMs = NOON_MS + 60_950;
    for (let left = 9; left >= 0; left--) story.answer({ limit: 60, remaining: left, resetAtMs: NOON_MS + 120_950 });
    expect(story.ledger.look(story.nowMs, 0).at - NOON_MS).toBeLessThan(63_000);
  });

  test('waits for the Reset of a window that others have used up at its turn', () => {
    const story = new Story();
    for (let left = 59; left >= 0; left--) story.answer({ limit: 60, remaining: left, ...RESET });
    story.nowMs = NOON_MS + 66_050;
    for (let left = 9; left >= 0; left--) story.answer({ limit: 60, remaining: left, resetAtMs: NOON_MS + 126_050 });
    expect(story.ledger.look(story.nowMs, 0).at - NOON_MS).toBeGreaterThan(126_000);
  });
});

describe('Ledger, while others send too,', () => {
  test('leaves a request to them if two of theirs came between two answers', () => {
    const freeAfter = (remaining: number) => new Story().answer({ remaining: 8 }).answer({ remaining }).free;
    expect([freeAfter(7), freeAfter(5)]).toEqual([7, 4]);
  });

  test('counts what they send while many of its own requests are in flight', () => {
    const window = new QuotaWindow(300, 60_000);
    const reset = { atMs: NOON_MS + 60_000, endsAtMs: NOON_MS + 60_000, slackMs: 0 };
    const reading = { status: 200, retryAfterMs: undefined, reset, serverMs: NOON_MS, unanswered: 8, concurrent: 8 };
    // Eight requests are always in flight; others send four for each that is answered.
    for (let sent = 0; sent < 8; sent++) window.add(NOON_MS);
    for (let answered = 1; answered <= 20; answered++) {
      const nowMs = NOON_MS + 20 * answered;
      window.add(nowMs);
      window.observe({ ...reading, remaining: 300 - 5 * answered, sentAtMs: nowMs - 100, nowMs });
    }
    const sentByOthers = 4 * 19;
    expect(window.others.usualPerMs * 20_000).toBeGreaterThan(0.6 * sentByOthers);
  });

  test('has no more in flight than half of what is left, in a burst of theirs', () => {
    const freeFrom = (left: number) => {
      const story = new Story({ plan: { requestsPerMinute: 600 } });
      for (const remaining of [left, left - 6]) story.answer({ limit: 600, remaining, ...RESET });
      return story.freeFor(100);
    };
    expect([freeFrom(60), freeFrom(16)]).toEqual([8, 5]);
  });

  test('leaves the slots to them that come back one by one while no answer comes', () => {
    // One slot comes back in a second; others use every second one.
    const story = new Story();
    for (let sent = 0; sent < 60; sent++) {
      story.answer({ limit: 60, remaining: 3, resetAtMs: story.nowMs + 57_100 });
      story.nowMs += 1_900;
    }
    story.answer({ limit: 60, remaining: 0, resetAtMs: story.nowMs + 60_100 });
    const free = (afterMs: number) => story.ledger.look(story.nowMs + afterMs, 0, 10).free;
    expect([1_000, 2_000, 3_000, 5_000].map(free)).toEqual([0, 1, 1, 1]);
  });
});

describe('Ledger, after a Retry-After,', () => {
  test('lets one request ask, even if it counts the limit as used up', () => {
    const story = new Story({ plan: { requestsPerMinute: 1 } }).answer({ limit: 1, remaining: 0, ...RESET });
    story.nowMs += 61_000;
    story.answer({ limit: 1, remaining: 0, resetAtMs: NOON_MS + 120_000 });
    story.nowMs += 59_000;
    story.answer({ status: 429, limit: 1, remaining: 0, resetAtMs: NOON_MS + 180_000, retryAfterMs: 10_000 });
    const opensMs = story.ledger.look(story.nowMs, 0).at;
    story.nowMs = opensMs;
    expect([Math.round((opensMs - NOON_MS) / 1_000), story.free]).toEqual([130, 1]);
  });

  test('keeps that request for the next call if its permit is given back', () => {
    const story = new Story({ plan: { requestsPerMinute: 5 } });
    const resetAtMs = NOON_MS + 60_000;
    for (const remaining of [4, 3, 2, 1]) story.answer({ limit: 5, remaining, resetAtMs });
    story.answer({ status: 429, limit: 5, remaining: 0, resetAtMs, retryAfterMs: 5_000 });
    story.nowMs += 5_300;
    expect(story.free).toBe(1);
    story.ledger.unsend(story.ledger.send(story.nowMs), story.nowMs);
    expect(story.free).toBe(1);
  });
});

describe('Ledger, if answers have no `Date`,', () => {
  test('takes a Reset that may have passed for passed, and meets one 429 on a weighted counter', () => {
    const bare = ({ dateMs: _, ...answer }: Answer) => answer;
    const world = { policy: 'sliding-counter', startMs: NOON_MS + 33_000, skewMs: 14_000_000, delaysMs: [130, 20], disturb: bare } as const;
    expect(play({ ...world, plan: { requestsPerMinute: 1 }, calls: 8 }).refusals).toHaveLength(1);
  });

  test("no longer trusts the machine's clock after a 429 that came before the Reset", () => {
    const { ledger } = new Story();
    // The machine's clock is ten seconds ahead.
    const answerAt = (atMs: number, answer: Partial<Answer>) => {
      const nowMs = NOON_MS + atMs;
      ledger.look(nowMs, 0);
      const headers = { status: 200, limit: 60, remaining: 0, receivedAtMs: nowMs + 10_100 };
      ledger.observe(ledger.send(nowMs), { ...headers, ...answer }, nowMs + 100);
      return ledger.look(nowMs + 100, 0).at - NOON_MS;
    };
    expect(answerAt(0, RESET)).toBeLessThan(50_100);
    answerAt(50_100, { ...RESET, status: 429, retryAfterMs: 10_000 });
    expect(answerAt(60_300, { resetAtMs: NOON_MS + 120_000 })).toBeGreaterThanOrEqual(120_000);
  });

  test('counts anew from the first turn, even if the window may have begun shortly before', () => {
    const { ledger } = new Story({ plan: { requestsPerMinute: 3 } });
    // The machine's clock is hours ahead, so that the window may end at any time within a minute.
    const answerAt = (nowMs: number, remaining: number, resetAtMs: number) => {
      ledger.look(nowMs, 0);
      const headers = { status: 200, limit: 14, remaining, resetAtMs, receivedAtMs: nowMs + 9 * HOUR_MS };
      ledger.observe(ledger.send(nowMs), headers, nowMs + 100);
    };
    answerAt(NOON_MS, 13, NOON_MS + 60_000);
    answerAt(NOON_MS + 1_000, 12, NOON_MS + 60_000);
    answerAt(NOON_MS + 8_000, 13, NOON_MS + 120_000);
    expect(ledger.look(NOON_MS + 8_100, 0).free).toBe(1);
  });
});

describe('Ledger, if headers report the day, alone or in turns with the minute,', () => {
  const MINUTE = { limit: 300, remaining: 299, ...RESET };
  /** The minute's limit after these answers. */
  const limitAfter = (...answers: Partial<Answer>[]) =>
    answers.reduce<Story>((story, answer) => story.answer(answer), new Story({ plan: undefined })).limit;

  test('takes nothing of it for the minute in the last two minutes of the day', () => {
    const ofDay = (remaining: number) => ({ limit: 432_000, remaining, resetAtMs: NOON_MS + 110_000 });
    expect(limitAfter(MINUTE, ofDay(431_900), ofDay(431_899), ofDay(431_898))).toBe(300);
  });

  test('takes nothing of it for the minute in the last minute of the day, when its Limit and Reset are known', () => {
    const ofDay = (remaining: number, limit = 432_000) => ({ limit, remaining, resetAtMs: NOON_MS + 121_000 });
    const story = [MINUTE, ofDay(431_900)].reduce((told, answer) => told.answer(answer), new Story({ plan: undefined }));
    story.nowMs += 61_000;
    expect(
      story
        .answer({ ...MINUTE, resetAtMs: NOON_MS + 120_000 })
        .answer(ofDay(431_800))
        .answer(ofDay(431_799)).limit,
    ).toBe(300);
    // The same Reset to a second as the minute's, and a Limit that is not known to be the day's: a larger plan.
    expect(story.answer(ofDay(598, 600)).answer(ofDay(597, 600)).limit).toBe(600);
  });

  test("takes a Limit that was the day's for that of the minute if it has the Reset of the minute, as after a change from Free to Business", () => {
    const ofDay = { limit: 1_000, remaining: 900, resetAtMs: NOON_MS + 12 * HOUR_MS };
    const ofMinute = (remaining: number) => ({ limit: 1_000, remaining, ...RESET });
    expect(limitAfter({ ...MINUTE, limit: 60, remaining: 59 }, ofDay, ofMinute(940), ofMinute(939))).toBe(1_000);
  });

  test('knows the plan by it, and so the limit of the minute, until headers report that', () => {
    const ofDay = { limit: 10_000, remaining: 9_999, resetAtMs: NOON_MS + 12 * HOUR_MS };
    expect(limitAfter(ofDay)).toBe(300);
    expect(limitAfter(ofDay, { ...MINUTE, limit: 100, remaining: 99 }, ofDay)).toBe(100);
  });

  test('no longer knows the plan by it when that day has ended', () => {
    const story = new Story({ plan: undefined }).answer({ limit: 10_000, remaining: 9_999, resetAtMs: NOON_MS + HOUR_MS });
    story.nowMs += HOUR_MS;
    expect(story.ledger.snapshot(story.nowMs)).toMatchObject({ minute: { limit: 60 }, day: { limit: 1_000 } });
  });

  test('takes nothing of it for the minute if its Reset is 0 once', () => {
    const ofDay = (remaining: number) => ({ limit: 432_000, resetAtMs: NOON_MS + 12 * HOUR_MS, remaining });
    expect(limitAfter(ofDay(431_900), { limit: 432_000, resetInMs: 0, remaining: 431_899 })).toBe(60);
  });

  test('takes a first Limit of 1000 for that of the plan Free if its Reset is more than a minute ahead', () => {
    const first = { limit: 1_000, remaining: 999 };
    expect(limitAfter({ ...first, resetAtMs: NOON_MS + 110_000 })).toBe(60);
    expect([limitAfter({ ...first, ...RESET }), limitAfter(first)]).toEqual([1_000, 1_000]);
  });
});

describe('Ledger, if `Date` is ahead of the clock that counts,', () => {
  test('loses no minute after a 429 has shown that a window which seemed to be over lasts', () => {
    const ahead = (answer: Answer) => ({ ...answer, dateMs: Math.floor((answer.receivedAtMs + 2_600) / 1_000) * 1_000 });
    const world = { policy: 'fixed-clock', startMs: NOON_MS + 40_000, skewMs: 0, delaysMs: [30], disturb: ahead } as const;
    // Two calls in each of four minutes of the clock, the first of which has 20 seconds left.
    expect(play({ ...world, plan: { requestsPerMinute: 2 }, calls: 8 }).tookMs).toBeLessThan(145_000);
  });
});

describe('Ledger, if `Date` is behind the clock that counts,', () => {
  test.each([1, 1_000])('uses each minute but one, if the Date of the first %d answers is an hour behind', (wrong) => {
    const behind = (answer: Answer, n: number) => ({ ...answer, dateMs: answer.receivedAtMs - (n < wrong ? HOUR_MS : 0) });
    const world = { policy: 'fixed-clock', startMs: NOON_MS + 40_000, skewMs: 0, delaysMs: [30], disturb: behind } as const;
    // Sixty calls in each of four minutes of the clock, the first of which has 20 seconds left.
    const { tookMs, refusals } = play({ ...world, plan: { requestsPerMinute: 60 }, calls: 240 });
    expect([tookMs < 240_000, refusals]).toEqual([true, []]);
  });
});

describe('Ledger, on a token bucket that is smaller than the plan,', () => {
  test('learns the refill rate from the Resets', () => {
    const story = new Story({ plan: { requestsPerMinute: 6_000 } });
    for (let left = 59; left >= 0; left--) {
      const fullAtMs = story.nowMs + (60 - left) * 1_000;
      story.answer({ limit: 60, remaining: left, resetAtMs: fullAtMs });
    }
    const emptyAtMs = story.nowMs;
    expect(story.ledger.look(emptyAtMs, 0).at - emptyAtMs).toBeGreaterThan(900);
  });

  test('keeps to a share of the plan, and not of the size of the bucket, which the Limit is', () => {
    const story = new Story({ share: 0.5, plan: { requestsPerMinute: 120 } });
    for (const remaining of [5, 4, 4, 4]) {
      story.answer({ limit: 6, remaining, resetAtMs: story.nowMs + 500 });
      story.nowMs += 1_000;
    }
    for (const remaining of [3, 2, 1, 0]) story.answer({ limit: 6, remaining, resetAtMs: story.nowMs + 500 });
    const { free, at } = story.ledger.look(story.nowMs, 0);
    expect([free, Math.round((at - story.nowMs) / 1_000)]).toEqual([0, 1]);
  });

  test('keeps to a share of the size if the plan has no limit', () => {
    const story = new Story({ share: 0.5, plan: 'unlimited' });
    for (const remaining of [5, 4, 4, 4]) {
      story.answer({ limit: 6, remaining, resetAtMs: story.nowMs + 500 });
      story.nowMs += 1_000;
    }
    for (const remaining of [3, 2, 1, 0]) story.answer({ limit: 6, remaining, resetAtMs: story.nowMs + 500 });
    expect(story.limit).toBe(3);
  });
});

describe('Ledger, with one request left, which it leaves to others,', () => {
  test('asks within two seconds whether they have taken it, and waits for no Reset', () => {
    const story = new Story().answer({ limit: 60, remaining: 59, ...RESET }).answer({ limit: 60, remaining: 48, ...RESET });
    const { nowMs } = story.answer({ limit: 60, remaining: 1, ...RESET });
    expect(story.ledger.look(nowMs, 0)).toMatchObject({ free: 0, reason: 'quota' });
    // It looks once more when a burst of theirs no longer counts.
    for (let looks = 0; looks < 2; looks++) story.nowMs = Math.ceil(story.ledger.look(story.nowMs, 0).at);
    expect([story.nowMs - nowMs, story.free]).toEqual([2_000, 1]);
  });

  test('sends it as soon as a burst of theirs no longer counts', () => {
    const story = new Story();
    for (const remaining of [8, 7, 6, 5, 4, 3, 1]) story.answer({ limit: 60, remaining, ...RESET });
    const { free, at } = story.ledger.look(story.nowMs, 0);
    expect([free, Math.round(at - story.nowMs)]).toEqual([0, 144]);
    story.nowMs = Math.ceil(at);
    expect(story.free).toBe(1);
  });

  test('asks as soon if a weighted counter fits best, in whose first minute no slot comes back', () => {
    const story = new Story();
    // Two servers: the second one counts other requests, and its clock is a second ahead.
    const [first, second] = [RESET, { resetAtMs: RESET.resetAtMs + 1_000 }];
    for (const left of [8, 7, 6, 5])
      story.answer({ limit: 60, remaining: left, ...first }).answer({ limit: 60, remaining: left + 6, ...second });
    story.answer({ limit: 60, remaining: 3, ...first });
    const { nowMs } = story;
    expect(story.ledger.look(nowMs, 0)).toMatchObject({ free: 0, reason: 'quota' });
    expect(story.ledger.look(nowMs, 0).at - nowMs).toBeLessThanOrEqual(2_000);
  });

  test('forgets the burst in a pause of a minute', () => {
    const window = new QuotaWindow(60, 60_000);
    const reading = { status: 200, retryAfterMs: undefined, reset: undefined, serverMs: NOON_MS, unanswered: 0, concurrent: 0 };
    for (const [nowMs, remaining] of [[NOON_MS, 59] as const, [NOON_MS + 100, 30] as const]) {
      window.add(nowMs);
      window.observe({ ...reading, remaining, sentAtMs: nowMs, nowMs });
    }
    const during = window.others.latelyPerMs(0);
    window.turn(NOON_MS + HOUR_MS, 0);
    expect([during > 0, window.others.latelyPerMs(0)]).toEqual([true, 0]);
  });
});

describe('Ledger, after a Remaining alone,', () => {
  test('asks whether others have stopped: twice as late after each one of 0, and sooner again after one above 0', () => {
    const story = new Story();
    const waitAfter = (remaining: number) => {
      const { nowMs } = story.answer({ remaining });
      const { at } = story.ledger.look(nowMs, 0);
      story.nowMs = Math.max(nowMs, at);
      return Math.round(at - nowMs);
    };
    expect([0, 0, 0, 0, 0, 0, 5, 0].map(waitAfter)).toEqual([250, 500, 1_000, 2_000, 4_000, 4_000, 0, 4_000]);
  });

  test('believes it, and an answer without any header changes nothing', () => {
    const story = new Story().answer({ remaining: 5 });
    expect([story.left, story.answer({}).left]).toEqual([5, 4]);
  });
});

describe('Ledger, after a Reset that is more than a day ahead,', () => {
  test('learns nothing about any window', () => {
    const story = new Story().answer({ limit: 60, remaining: 0, resetAtMs: NOON_MS + 30 * 3_600_000 });
    expect([story.left, story.ledger.snapshot(story.nowMs).day.remaining, story.free > 0]).toEqual([59, undefined, true]);
  });
});

describe('Ledger, after a Reset alone,', () => {
  test('waits until its own oldest request is a minute old if the Reset moves on and no request of others is known', () => {
    const story = new Story({ plan: { requestsPerMinute: 2 } }).answer({ resetAtMs: NOON_MS + 20_000 });
    story.nowMs = NOON_MS + 19_000;
    story.answer({ resetAtMs: NOON_MS + 40_000 });
    expect(Math.round((story.ledger.look(story.nowMs, 0).at - NOON_MS) / 1_000)).toBe(60);
  });

  test('begins the next window at this Reset', () => {
    const story = new Story({ plan: { requestsPerMinute: 2 } })
      .answer({ resetAtMs: NOON_MS + 20_000 })
      .answer({ resetAtMs: NOON_MS + 20_000 });
    expect(Math.round((story.ledger.look(story.nowMs, 0).at - NOON_MS) / 1_000)).toBe(20);
  });
});

describe('Ledger, for a client with half of the quota,', () => {
  test('counts its first request, even if the Reset is cut to a second after it', () => {
    const story = new Story({ share: 0.5 }).answer({ limit: 60, remaining: 59, resetAtMs: NOON_MS + 61_000 });
    expect(story.left).toBe(29);
  });

  test('uses half of the limit that the headers report, even if the plan says more', () => {
    const story = new Story({ share: 0.5, plan: { requestsPerMinute: 1_000 } }).answer({ limit: 60, remaining: 59, ...RESET });
    expect([story.limit, story.left]).toEqual([30, 29]);
    expect(story.answer({ limit: 300, remaining: 298, ...RESET }).answer({ limit: 300, remaining: 297, ...RESET }).limit).toBe(150);
  });

  test('tells other processes the whole limit of the day too, given or learned', () => {
    const given = new Story({ share: 0.5, plan: { requestsPerMinute: 60, requestsPerDay: 1_000 } });
    const learned = new Story({ share: 0.5, plan: undefined }).answer({ limit: 300, remaining: 299, ...RESET });
    for (const [{ ledger }, limitPerDay] of [[given, 1_000] as const, [learned, 10_000] as const])
      expect(ledger.windows.observed(NOON_MS)).toMatchObject({ plan: { requestsPerDay: limitPerDay / 2 }, limitPerDay });
  });
});

describe('Ledger, after a day that others used up,', () => {
  test('asks again when their oldest request has left, if the service counts the last 24 hours', () => {
    const story = new Story({ plan: { requestsPerMinute: 60, requestsPerDay: 10_000 } });
    for (const remaining of [9_000, 6_000, 3_000, 0]) {
      story.answer({ limit: 10_000, remaining, resetAtMs: story.nowMs + 300_000 });
      story.nowMs += 301_000;
    }
    story.nowMs += 25 * HOUR_MS;
    expect(story.free).toBe(1);
  });
});

describe('Ledger, refused again while the minute has quota left,', () => {
  test('takes no notice of a Retry-After that has proved too short', () => {
    const story = new Story();
    const waits = [0, 1, 2, 3, 4].map(() => {
      story.answer({ status: 429, limit: 60, remaining: 35, resetAtMs: story.nowMs + 60_000, retryAfterMs: 0 });
      const waitMs = story.ledger.look(story.nowMs, 0).at - story.nowMs;
      story.nowMs += waitMs;
      return Math.round(waitMs / 1000);
    });
    expect(waits).toEqual([1, 4, 16, 64, 256]);
  });

  test('believes a short Retry-After if it is the day of which the headers say that it has quota left', () => {
    const story = new Story();
    const waits = [0, 1, 2, 3, 4].map(() => {
      story.answer({ status: 429, limit: 1_000, remaining: 900, resetAtMs: NOON_MS + 20 * HOUR_MS, retryAfterMs: 1_000 });
      const waitMs = story.ledger.look(story.nowMs, 0).at - story.nowMs;
      story.nowMs += waitMs;
      return waitMs;
    });
    expect(waits).toEqual([1_000, 1_000, 2_000, 4_000, 8_000]);
  });

  test('takes no 503 for a refusal of the day', () => {
    const story = new Story();
    for (const retryAfterMs of [1_000, 1_000, 2_000, 4_000]) {
      story.answer({ status: 429, limit: 60, remaining: 0, resetAtMs: story.nowMs + 60_000, retryAfterMs });
      story.nowMs = story.ledger.look(story.nowMs, 0).at;
    }
    story.answer({ status: 503, limit: 60, remaining: 40, resetAtMs: story.nowMs + 60_000, retryAfterMs: 5_000 });
    expect(story.ledger.look(story.nowMs, 0).at - story.nowMs).toBe(5_000);
  });
});

describe('Ledger, refused for longer than a minute while no header reports the day,', () => {
  /**
   * How many requests passed and were refused in each window of a service that allows `perDay`, with one request after the other when the
   * ledger allows it.
   */
  function playWindows(perDay: number, windows: number): { passed: number; refused: number }[] {
    const story = new Story({ plan: 'unlimited' });
    return Array.from({ length: windows }, (_, window) => {
      const endsAtMs = NOON_MS + (window + 1) * HOUR_MS;
      const seen = { passed: 0, refused: 0 };
      while (story.nowMs < endsAtMs) {
        const { at, free } = story.ledger.look(story.nowMs, 0);
        if (free <= 0) story.nowMs = Math.max(story.nowMs, at);
        else if (seen.passed < perDay) seen.passed += story.answer({}) ? 1 : 0;
        else seen.refused += story.answer({ status: 429, retryAfterMs: endsAtMs - story.nowMs }) ? 1 : 0;
      }
      return seen;
    });
  }

  test('continues once a request has passed, and is refused once in each window', () => {
    expect(playWindows(40, 4)).toEqual(Array(4).fill({ passed: 40, refused: 1 }));
  });

  interface Day {
    passed: number;
    refused: number;
    /** How many requests were in flight together, each time, after so many had passed. */
    batches: { after: number; size: number }[];
  }

  /** The requests of each day of a service that lets so many pass, with as many in flight as the ledger allows. */
  function playDays(limits: readonly number[]): Day[] {
    const { ledger } = new Story({ plan: 'unlimited' });
    let nowMs = NOON_MS;
    return limits.map((perDay, index) => {
      const endsAtMs = NOON_MS + (index + 1) * 24 * HOUR_MS;
      const day: Day = { passed: 0, refused: 0, batches: [] };
      while (nowMs < endsAtMs) {
        const { at, free } = ledger.look(nowMs, 0);
        if (free > 0) day.batches.push({ after: day.passed, size: free });
        const sendings = Array.from({ length: Math.max(0, free) }, () => ledger.send(nowMs));
        nowMs = free > 0 ? nowMs + 100 : Math.max(nowMs, at);
        for (const sending of sendings) {
          const isRefused = day.passed >= perDay;
          day[isRefused ? 'refused' : 'passed']++;
          const answer = isRefused ? { status: 429, retryAfterMs: endsAtMs - nowMs } : { status: 200 };
          ledger.observe(sending, { receivedAtMs: nowMs, dateMs: nowMs, ...answer }, nowMs);
        }
      }
      return day;
    });
  }

  test('comes to the end of the next days with one request in flight, so that one is refused', () => {
    expect(playDays([100, 100, 100]).map(({ passed, refused }) => [passed, refused])).toEqual([
      [100, 6],
      [100, 1],
      [100, 1],
    ]);
  });

  test('sends several at a time again once half as many more have passed than on the day that was refused', () => {
    const batches = playDays([100, 300])[1]?.batches ?? [];
    const most = (from: number, to: number) =>
      Math.max(...batches.filter(({ after }) => after >= from && after < to).map(({ size }) => size));
    expect([most(0, 80), most(90, 150), most(170, 300)]).toEqual([8, 1, 8]);
  });
});
