import { describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/contract/limits.ts';
import { Ledger } from '../../../src/quota/ledger/ledger.ts';
import { NOON_MS, Story } from './story.ts';

/** A ledger with a plan of 60 a minute that has recognized a token bucket by four answers, two seconds apart. */
function ledgerOfBucket(): Ledger {
  const ledger = new Ledger({ plan: { requestsPerMinute: 60 }, concurrency: 64, share: 1 }, () => 0);
  for (let burst = 0; burst < 5; burst++) spend(ledger, { nowMs: NOON_MS + burst * 2_000, left: 60 - 13 * (burst + 1) + burst * 2 });
  return ledger;
}

/** Sends thirteen requests at once; the last answer reports what the bucket holds. */
function spend(ledger: Ledger, { nowMs, left }: { nowMs: number; left: number }): void {
  const sendings = Array.from({ length: 13 }, () => ledger.send(nowMs));
  sendings.forEach((sending, n) => {
    const remaining = left + 12 - n;
    ledger.observe(
      sending,
      { status: 200, receivedAtMs: nowMs, dateMs: nowMs, limit: 60, remaining, resetAtMs: nowMs + (60 - remaining) * 1_000 },
      nowMs,
    );
  });
}

describe('Ledger, on a token bucket,', () => {
  test('counts the bucket as empty after a refusal that says nothing about what is left, and waits for each token', () => {
    const ledger = ledgerOfBucket();
    const nowMs = NOON_MS + 9_000;
    const answer = (status: number, headers: { retryAfterMs?: number }, atMs: number) =>
      ledger.observe(ledger.send(atMs), { status, receivedAtMs: atMs, dateMs: atMs, limit: 60, ...headers }, atMs);
    answer(429, { retryAfterMs: 1_000 }, nowMs);
    expect(ledger.snapshot(nowMs).minute.remaining).toBe(0);
    expect(ledger.look(nowMs + 1_000, 0).free).toBe(1);
    answer(200, {}, nowMs + 1_000);
    expect(ledger.look(nowMs + 1_000, 0)).toMatchObject({ free: 0, at: nowMs + 2_000 });
  });

  test('raises the level by one request when a slot is given back, whatever time has passed', () => {
    const [ledger, untouched] = [ledgerOfBucket(), ledgerOfBucket()];
    const laterMs = NOON_MS + 9_000;
    ledger.unsend(ledger.send(laterMs), laterMs + 2_000);
    const freeOf = (each: Ledger) => each.look(laterMs + 2_000, 0).free;
    expect([freeOf(ledger), freeOf(untouched)]).toEqual([5, 5]);
  });
});

describe('Ledger, after unforeseen 429s,', () => {
  test('forgets them within 300 good answers, however many there were', () => {
    const ledger = new Ledger({ plan: { requestsPerMinute: 60 }, concurrency: 64, share: 1 }, () => 0);
    let nowMs = NOON_MS;
    const answer = (status: number, remaining: number) => {
      nowMs += 61_000;
      ledger.look(nowMs, 0);
      const probe = ledger.send(nowMs);
      ledger.observe(probe, { status: 200, receivedAtMs: nowMs, dateMs: nowMs, limit: 60, remaining, resetAtMs: nowMs + 60_000 }, nowMs);
      ledger.observe(ledger.send(nowMs), { status, receivedAtMs: nowMs, dateMs: nowMs, retryAfterMs: 1_000 }, nowMs);
    };
    for (let surprise = 0; surprise < 300; surprise++) answer(429, 59);
    for (let good = 0; good < 30 * 10; good++) answer(200, 10);
    expect(ledger.look(nowMs, 0).free).toBe(8);
  });
});

describe('Ledger, while the quota may end unseen,', () => {
  const HEADERS = { limit: 450, resetAtMs: NOON_MS + 60_000 };
  const makeStory = (requestsPerDay = 10_000) => new Story({ plan: { requestsPerMinute: 450, requestsPerDay } });

  /** How many requests may be in flight for so many waiting calls. */
  const inFlightFor = (waiting: number, { requestsPerDay, left = 350 }: { requestsPerDay?: number; left?: number } = {}) => {
    const story = makeStory(requestsPerDay);
    for (let remaining = left + 99; remaining >= left; remaining--) story.answer({ ...HEADERS, remaining });
    return story.freeFor(waiting);
  };

  test('has as many in flight as send within 400 ms what waits, and at least eight', () => {
    expect([1, 10, 60, 120].map((waiting) => inFlightFor(waiting))).toEqual([8, 8, 15, 30]);
  });

  test('has as many in flight as send the limit within 1.5 seconds, if more calls wait than are left', () => {
    expect([300, 30].map((left) => inFlightFor(2_000, { left }))).toEqual([30, 8]);
  });

  test('counts no request whose answer has come, however long its body takes', () => {
    const { ledger } = makeStory();
    const sendings = Array.from({ length: 20 }, () => ledger.send(NOON_MS));
    sendings.forEach((sending, sent) => {
      const headers = { ...HEADERS, remaining: 449 - sent };
      ledger.observe(sending, { status: 200, receivedAtMs: NOON_MS, dateMs: NOON_MS, ...headers }, NOON_MS);
    });
    expect(ledger.look(NOON_MS, 20, 10).free).toBe(8);
  });

  test('has two in flight after a 429 that no header foretold, and one more after every good answer', () => {
    const story = makeStory();
    const freeAfter = (answer: Partial<Answer>) => story.answer({ ...HEADERS, ...answer }).freeFor(20);
    const refused = { status: 429, remaining: 438, retryAfterMs: 1_000 };
    expect([{ remaining: 440 }, { remaining: 439 }, refused].map(freeAfter)).toEqual([8, 8, 0]);
    story.nowMs += 1_100;
    expect([438, 437, 436, 435, 434].map((remaining) => freeAfter({ remaining }))).toEqual([2, 3, 4, 5, 6]);
  });

  test('has as many in flight as before after a 429 to a probe whose header said that nothing was left', () => {
    const story = makeStory();
    story.answer({ ...HEADERS, status: 429, remaining: 0, resetAtMs: NOON_MS + 20_100, retryAfterMs: 20_000 });
    story.nowMs += 21_000;
    expect(story.answer({ ...HEADERS, remaining: 449, resetAtMs: story.nowMs + 20_100 }).freeFor(20)).toBe(8);
  });

  test('has at least four in flight while others send too', () => {
    const story = makeStory(648_000);
    for (let remaining = 440; remaining > 380; remaining -= 3) story.answer({ ...HEADERS, remaining });
    expect([1, 60].map((waiting) => story.freeFor(waiting))).toEqual([4, 15]);
  });

  test('has as many in flight as may be if the day allows as much as all its minutes', () => {
    expect(inFlightFor(2_000, { requestsPerDay: 648_000 })).toBe(64);
  });
});

describe('Ledger, while its probe after a 429 is unanswered,', () => {
  test('sends nothing beside it, even if the answer to an older request closes the key again', () => {
    const ledger = new Ledger({ plan: { requestsPerMinute: 60 }, concurrency: 64, share: 1 }, () => 0);
    const refuse = (sending: ReturnType<Ledger['send']>, nowMs: number) =>
      ledger.observe(sending, { status: 429, receivedAtMs: nowMs, dateMs: nowMs, retryAfterMs: 1_000 }, nowMs);
    const [first, second] = [ledger.send(NOON_MS), ledger.send(NOON_MS)];
    refuse(first, NOON_MS + 100);
    const probe = ledger.send(NOON_MS + 1_200);
    refuse(second, NOON_MS + 1_300);
    expect(ledger.look(NOON_MS + 2_600, 1)).toMatchObject({ free: 0, reason: 'in-flight' });
    ledger.observe(probe, { status: 200, receivedAtMs: NOON_MS + 2_700, dateMs: NOON_MS + 2_700 }, NOON_MS + 2_700);
    expect(ledger.look(NOON_MS + 2_700, 0).free).toBe(1);
  });

  test('leaves nothing if the Retry-After alone let that probe go', () => {
    const story = new Story({ plan: { requestsPerMinute: 2 } });
    const headers = { limit: 2, remaining: 0, resetAtMs: NOON_MS + 60_000 };
    story.answer(headers).answer({ ...headers, status: 429, retryAfterMs: 2_000 });
    story.nowMs += 2_000;
    expect([story.free, story.left]).toEqual([1, 1]);
    const probe = story.ledger.send(story.nowMs);
    expect([story.free, story.left]).toEqual([0, 0]);
    story.ledger.unsend(probe, story.nowMs);
    expect([story.free, story.left]).toEqual([1, 1]);
  });
});

describe('Ledger, after a refusal without a Retry-After,', () => {
  test.for([
    ['until the Reset, if nothing is left', { remaining: 0, resetAtMs: NOON_MS + 30_000 }, 30_000],
    ['for a second, if something is left', { remaining: 1, resetAtMs: NOON_MS + 30_000 }, 1_100],
    ['for a second, if the Reset is later than any window ends', { remaining: 0, resetAtMs: NOON_MS + 90_000_001 + 100 }, 1_100],
  ] as const)('keeps the key closed %s', ([, headers, openedAfterMs]) => {
    const { ledger, nowMs } = new Story().answer({ status: 429, limit: 60, ...headers });
    expect(ledger.closedUntilMs(nowMs)).toBe(NOON_MS + openedAfterMs);
  });
});

describe('Ledger, after a closure of minutes that no header explains,', () => {
  test('takes the refusals of its probes for no limit', () => {
    const ledger = new Ledger({ plan: { requestsPerMinute: 60 }, concurrency: 64, share: 1 }, () => 0);
    const answer = (status: number, nowMs: number) => {
      ledger.look(nowMs, 0);
      ledger.observe(
        ledger.send(nowMs),
        { status, receivedAtMs: nowMs, dateMs: nowMs, ...(status === 429 && { retryAfterMs: 60_000 }) },
        nowMs,
      );
    };
    answer(200, NOON_MS);
    for (let minute = 1; minute <= 5; minute++) answer(429, NOON_MS + minute * 61_000);
    answer(200, NOON_MS + 400_000);
    expect(ledger.look(NOON_MS + 400_000, 0).free).toBe(1);
  });
});

describe('Ledger, of a service that reports no Remaining,', () => {
  test('starts with few in flight, and has one more after each good answer, up to eight', () => {
    const story = new Story({ plan: { requestsPerMinute: 6_000 } });
    expect(Array.from({ length: 7 }, () => story.answer({}).freeFor(100))).toEqual([3, 4, 5, 6, 7, 8, 8]);
  });

  test('has one request in flight after a 429, and one more for every four good answers, up to eight', () => {
    const ledger = new Ledger({ plan: { requestsPerMinute: 6_000 }, concurrency: 64, share: 1 }, () => 0);
    let nowMs = NOON_MS;
    const answer = (status: number) => {
      nowMs += 2_000;
      ledger.look(nowMs, 0);
      const sending = ledger.send(nowMs);
      ledger.observe(sending, { status, receivedAtMs: nowMs, dateMs: nowMs, ...(status === 429 && { retryAfterMs: 1_000 }) }, nowMs);
      return ledger.look(nowMs + 1, 0).free;
    };
    answer(200);
    answer(429);
    const good = Array.from({ length: 40 }, () => answer(200));
    expect([3, 4, 8, 12, 28, 40].map((answers) => good[answers - 1])).toEqual([1, 2, 3, 4, 8, 8]);
  });

  test('says when it sends again after two refusals, each of the only request in a minute', () => {
    const story = new Story();
    for (const status of [200, 429, 200, 429, 200]) {
      if (status === 429) story.nowMs += 70_000;
      story.answer({ status, ...(status === 429 && { retryAfterMs: 6_000 }) });
      story.nowMs += 7_000;
    }
    const { free, at } = story.ledger.look(story.nowMs, 0);
    expect([free, Math.round((at - story.nowMs) / 1_000)]).toEqual([0, 374]);
    expect([story.ledger.look(at - 2, 0).free, story.ledger.look(at, 0).free]).toEqual([0, 1]);
  });
});

describe('Ledger, of a service that no longer reports Remaining,', () => {
  test('lets one request go at a time after a 429, until five good answers have reported none', () => {
    const ledger = new Ledger({ plan: { requestsPerMinute: 600 }, concurrency: 64, share: 1 }, () => 0);
    let nowMs = NOON_MS;
    const answer = (status: number, headers: { remaining?: number; limit?: number; resetAtMs?: number; retryAfterMs?: number } = {}) => {
      nowMs += 2_000;
      ledger.look(nowMs, 0);
      ledger.observe(ledger.send(nowMs), { status, receivedAtMs: nowMs, dateMs: nowMs, ...headers }, nowMs);
      return ledger.look(nowMs + 1, 0).free;
    };
    expect(answer(200, { limit: 600, remaining: 599, resetAtMs: NOON_MS + 60_000 })).toBeGreaterThan(1);
    answer(429, { retryAfterMs: 1_000 });
    const free = Array.from({ length: 5 }, () => answer(200));
    expect(free.slice(0, 4)).toEqual([1, 1, 1, 1]);
    expect(free[4]).toBeGreaterThan(1);
  });
});

describe('Ledger, told a Reset,', () => {
  test.each([
    [119_000, { minute: { limit: 10 }, day: { limit: undefined } }],
    [121_000, { minute: { limit: 60 }, day: { limit: 10 } }],
  ])('takes one more than two minutes away for that of the day (Reset in %i ms)', (resetInMs, quota) => {
    const ledger = new Ledger({ plan: undefined, concurrency: 64, share: 1 }, () => 0);
    const nowMs = NOON_MS;
    const headers = { limit: 10, remaining: 9, resetAtMs: nowMs + resetInMs };
    ledger.observe(ledger.send(nowMs), { status: 200, receivedAtMs: nowMs, dateMs: nowMs, ...headers }, nowMs);
    expect(ledger.snapshot(nowMs)).toMatchObject(quota);
  });
});

describe('Ledger, without a plan,', () => {
  test.each([
    ['within 62 seconds by `Date`', { dateMs: NOON_MS, resetAtMs: NOON_MS + 62_000 }, 300],
    ['later by `Date`', { dateMs: NOON_MS, resetAtMs: NOON_MS + 63_000 }, 60],
    ['within 62 seconds by the clock', { resetAtMs: NOON_MS + 62_000 }, 300],
    ['later by the clock', { resetAtMs: NOON_MS + 63_000 }, 60],
    ['six hours later by the clock', { resetAtMs: NOON_MS + 6 * 3_600_000 }, 60],
    ['in 62 seconds', { resetInMs: 62_000 }, 300],
    ['in 63 seconds', { resetInMs: 63_000 }, 60],
  ])("takes a larger Limit for the minute's only if its Reset is near enough: %s", (_, reset, limit) => {
    const ledger = new Ledger({ plan: undefined, concurrency: 64, share: 1 }, () => 0);
    const answer = { status: 200, receivedAtMs: NOON_MS, limit: 300, remaining: 299, ...reset };
    ledger.observe(ledger.send(NOON_MS), answer, NOON_MS);
    expect(ledger.snapshot(NOON_MS).minute.limit).toBe(limit);
  });

  test('takes a smaller Limit whatever its Reset, also if its share is smaller still', () => {
    const ledger = new Ledger({ plan: undefined, concurrency: 64, share: 0.5 }, () => 0);
    const limits = [300, 200].map((limit, index) => {
      const nowMs = NOON_MS + index * 5_000;
      const resetAtMs = nowMs + 60_000 + index * 5_000;
      ledger.observe(ledger.send(nowMs), { status: 200, receivedAtMs: nowMs, limit, remaining: limit - 1, resetAtMs }, nowMs);
      return ledger.snapshot(nowMs).minute.limit;
    });
    expect(limits).toEqual([150, 100]);
  });

  test("raises the minute's limit once the Reset is near enough", () => {
    const ledger = new Ledger({ plan: undefined, concurrency: 64, share: 1 }, () => 0);
    const limits = [0, 20_000, 40_000].map((ms) => {
      const nowMs = NOON_MS + ms;
      const answer = { status: 200, receivedAtMs: nowMs, dateMs: nowMs, limit: 300, remaining: 299, resetAtMs: NOON_MS + 90_000 };
      ledger.observe(ledger.send(nowMs), answer, nowMs);
      return ledger.snapshot(nowMs).minute.limit;
    });
    expect(limits).toEqual([60, 60, 300]);
  });
});

describe('Ledger, of a plan that is smaller than what the service allows,', () => {
  test.each([30_000, 0])('lets no more pass than the plan, by its second count too (Reset in %i ms)', (resetInMs) => {
    const ledger = new Ledger({ plan: { requestsPerMinute: 60 }, concurrency: 64, share: 1 }, () => 0);
    const nowMs = NOON_MS;
    const reset = resetInMs > 0 && { resetAtMs: nowMs + resetInMs };
    ledger.observe(ledger.send(nowMs), { status: 200, receivedAtMs: nowMs, dateMs: nowMs, limit: 300, remaining: 299, ...reset }, nowMs);
    expect(ledger.ceiling(nowMs)).toBe(59);
  });
});

describe('Ledger, of a plan that is used up by its own count,', () => {
  test.each([
    ['the first token of a day', { requestsPerMinute: 60, requestsPerDay: 3 }, 8 * 3_600_000],
    ['the first token of a minute', { requestsPerMinute: 3 }, 20_000],
  ])('says that it looks again when %s comes back', (_, plan, waitMs) => {
    const ledger = new Ledger({ plan, concurrency: 64, share: 1 }, () => 0);
    for (let sent = 0; sent < 3; sent++) ledger.send(NOON_MS);
    expect(ledger.ceiling(NOON_MS)).toBe(0);
    const lookAtMs = ledger.ceilingLookAtMs(NOON_MS);
    expect(Math.abs(lookAtMs - NOON_MS - waitMs)).toBeLessThanOrEqual(1);
    expect([ledger.ceiling(lookAtMs - 1_000), ledger.ceiling(lookAtMs)]).toEqual([0, 1]);
  });
});

describe('Ledger, of an endpoint that is not there,', () => {
  test.each([200, 404, 501, 505])('takes its quota from answers with status %i, so that calls need not go one at a time', (status) => {
    const ledger = new Ledger({ plan: { requestsPerMinute: 60 }, concurrency: 64, share: 1 }, () => 0);
    const nowMs = NOON_MS;
    ledger.observe(
      ledger.send(nowMs),
      { status, receivedAtMs: nowMs, dateMs: nowMs, limit: 60, remaining: 59, resetAtMs: nowMs + 60_000 },
      nowMs,
    );
    expect(ledger.look(nowMs, 0).free).toBeGreaterThan(1);
  });
});

describe('Ledger, on a service that counts the last 60 seconds,', () => {
  test('counts a request without an answer as arrived when it was given up', () => {
    const ledger = new Ledger({ plan: { requestsPerMinute: 2 }, concurrency: 64, share: 1 }, () => 0);
    ledger.observe(ledger.send(NOON_MS), { status: 200, receivedAtMs: NOON_MS }, NOON_MS);
    ledger.lose(ledger.send(NOON_MS + 2_000), { isFailure: false, isUnsent: false }, NOON_MS + 7_000);
    const freeAfter = (ms: number) => ledger.look(NOON_MS + ms, 0).free;
    expect([freeAfter(50_000), freeAfter(62_200), freeAfter(67_200)]).toEqual([0, 1, 2]);
  });
});
