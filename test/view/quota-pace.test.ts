import type { Quota } from 'petstore-inventory';
import { describe, expect, test, vi } from 'vitest';
import { QuotaPace } from '../../src/view/quota-pace.ts';
import { holdTime, NOW_MS } from '../support/time.ts';
import { openShop } from './support/shop.ts';

holdTime();

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

describe("maxAgeMs: 'quota'", () => {
  test("a thousand readers at once and 30 a second for ten minutes leave half of a Free key's quota to others", async () => {
    const { view, client, sandbox, log } = openShop({ plan: 'free', view: { maxAgeMs: 'quota' } });
    const waits: number[] = [];
    const updates: number[] = [];
    const note = async (call: Promise<unknown>, times: number[]) => {
      const begunAtMs = Date.now();
      await call;
      times.push(Date.now() - begunAtMs);
    };
    const calls = Array.from({ length: 1_000 }, () => note(view.get(1), waits));
    for (let tick = 0; tick < 600 * 30; tick++) {
      calls.push(note(view.get(1), waits));
      // An update every other second: half of what the key may send.
      if (tick % 60 === 30) calls.push(note(client.updateInventory(3, { quantity: tick }), updates));
      await vi.advanceTimersByTimeAsync(1_000 / 30);
    }
    await vi.advanceTimersByTimeAsync(1_000);
    await Promise.all(calls);
    expect(sandbox.report().rateLimited).toBe(0);
    expect(Math.max(...waits)).toBeLessThanOrEqual(101);
    expect(Math.max(...updates)).toBeLessThanOrEqual(101);
    expect([waits.length, updates.length]).toEqual([19_000, 300]);
    const lists = log().filter((line) => line.startsWith('GET')).length;
    // 500 of the day's 1,000 over 24 hours are one in 173 seconds, and the updates take 300.
    expect(lists).toBeGreaterThanOrEqual(3);
    expect(lists).toBeLessThanOrEqual(4);
  });

  test.each([
    ['fixed-clock', 27, 31, 1_000],
    ['fixed-first', 27, 32, 100],
    ['sliding-counter', 27, 31, 1_000],
    // Only after some lists is it seen that the Reset of these moves.
    ['sliding-log', 20, 31, 100],
    ['token-bucket', 27, 34, 100],
  ] as const)('spends its share of the minute evenly, and no more if the rest is unused: %s', async (policy, fewest, most, gapMs) => {
    const { view, sandbox } = openShop({
      plan: 'free',
      sandbox: { plans: { free: { requestsPerMinute: 60, requestsPerDay: 1_000_000 } }, latency: 10, policy },
      client: { plan: { requestsPerMinute: 60, requestsPerDay: 1_000_000 } },
      view: { maxAgeMs: 'quota' },
    });
    for (let tick = 0; tick < 6_000; tick++) {
      view.get(1).catch(() => {});
      await vi.advanceTimersByTimeAsync(50);
    }
    const minutes = Map.groupBy(sandbox.requests, ({ atMs }) => Math.floor((atMs - NOW_MS) / MINUTE_MS));
    const counts = [...minutes.values()].map((requests) => requests.length);
    expect(counts.length).toBe(5);
    expect(Math.max(...counts)).toBeLessThanOrEqual(most);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(fewest);
    const gaps = sandbox.requests.slice(1).map(({ atMs }, index) => atMs - (sandbox.requests[index]?.atMs ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(gapMs);
  });

  test('quotaShare sets the share', async () => {
    const { view, sandbox } = openShop({
      plan: 'free',
      client: { plan: { requestsPerMinute: 60, requestsPerDay: 1_000_000 } },
      sandbox: { plans: { free: { requestsPerMinute: 60, requestsPerDay: 1_000_000 } } },
      view: { quotaShare: 0.1 },
    });
    for (let tick = 0; tick < 1_190; tick++) {
      view.get(1, { maxAgeMs: 'quota' }).catch(() => {});
      await vi.advanceTimersByTimeAsync(50);
    }
    expect(sandbox.requests.length).toBeLessThanOrEqual(7);
    expect(sandbox.requests.length).toBeGreaterThanOrEqual(5);
  });

  test('gives nothing older than maxStaleMs once a list has failed, and asks again after a second', async () => {
    const { view, sandbox, log } = openShop({ plan: 'free', view: { maxAgeMs: 'quota', maxStaleMs: 60_000 } });
    const read = async () => {
      const reading = view.get(1).catch(({ kind }: { kind: string }) => kind);
      await vi.advanceTimersByTimeAsync(100);
      return reading;
    };
    await read();
    await vi.advanceTimersByTimeAsync(200_000);
    const mend = sandbox.faults.add({ status: 501 });
    expect([await read(), await read()]).toEqual(['server', 'server']);
    mend();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await read()).toMatchObject({ quantity: 5 });
    expect(log()).toEqual(['GET 200', 'GET 501', 'GET 200']);
    const refreshing = view.refresh().catch(() => {});
    sandbox.faults.add({ status: 501 });
    await vi.advanceTimersByTimeAsync(100);
    await refreshing;
    expect([await read(), view.isStale, log().length]).toMatchObject([{ quantity: 5 }, true, 4]);
  });

  test.each(['get', 'changes'] as const)('does not use up the day of a Free key while every list fails: %s', async (use) => {
    const { view, sandbox, log } = openShop({ plan: 'free', view: { maxAgeMs: 'quota' } });
    sandbox.faults.add({ status: 501 });
    const read = { get: () => view.get(1), changes: () => view.changes().next() }[use];
    const statuses = new Set<number>();
    for (let second = 0; second < 3_600; second++) {
      if (use === 'get' || second === 0) read().catch(({ status }: { status: number }) => statuses.add(status));
      await vi.advanceTimersByTimeAsync(1_000);
    }
    // After pauses of 1, 2, 4 to 128 seconds, one every 173 seconds.
    expect(log().length).toBeGreaterThan(20);
    expect(log().length).toBeLessThan(32);
  });

  test('gives what is held while the key is closed, and asks for a list at once if a pet is in doubt', async () => {
    const { view, client, sandbox, log } = openShop({ plan: 'free', view: { maxAgeMs: 'quota' } });
    const loading = view.refresh();
    await vi.advanceTimersByTimeAsync(100);
    await loading;
    sandbox.faults.add({ status: 502, times: 1 });
    const failed = client.updateInventory(1, { quantity: 6 }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(100);
    expect(await failed).toMatchObject({ outcome: 'unknown' });
    expect(await view.get(3)).toMatchObject({ quantity: 7 });
    const read = view.get(1);
    await vi.advanceTimersByTimeAsync(100);
    expect(await read).toMatchObject({ quantity: 5 });
    expect(log()).toEqual(['GET 200', 'PATCH 502', 'GET 200']);
  });

  test('waits for the list under way, so that no reader gets what is about to be replaced', async () => {
    const { view, sandbox } = openShop({ plan: 'free', view: { maxAgeMs: 'quota' } });
    const loading = view.refresh();
    await vi.advanceTimersByTimeAsync(100);
    await loading;
    sandbox.inventory.set(1, { quantity: 6 });
    const refreshing = view.refresh();
    await vi.advanceTimersByTimeAsync(50);
    const read = view.get(1);
    await vi.advanceTimersByTimeAsync(50);
    await refreshing;
    expect(await read).toMatchObject({ quantity: 6 });
  });
});

/** How long it takes until the next list is due. */
function dueAfterMs(pace: QuotaPace): number {
  const sinceMs = Date.now();
  for (let looks = 0; looks < 200 && pace.dueInMs > 0; looks++) vi.advanceTimersByTime(Math.ceil(pace.dueInMs));
  return Date.now() - sinceMs;
}

const inMs = (ms: number) => new Date(NOW_MS + ms);

test.each([
  { name: 'minute', quota: { minute: { remaining: 10, resetAt: inMs(60_000) }, day: {} }, afterMs: [0, 12_000, 12_000, 12_000, 12_000] },
  { name: 'day', quota: { minute: {}, day: { remaining: 100, resetAt: inMs(100_000) } }, afterMs: [0, 2_000, 2_000, 2_000, 2_000] },
  {
    name: 'window that leaves least',
    quota: { minute: { remaining: 10, resetAt: inMs(60_000) }, day: { remaining: 100, resetAt: inMs(100_000) } },
    afterMs: [0, 12_000, 12_000, 12_000, 12_000],
  },
  { name: 'minute, of which no end is known', quota: { minute: { remaining: 10 }, day: {} }, afterMs: [0, 12_000, 12_000, 12_000, 12_000] },
  {
    name: 'minute, of which too little is left',
    quota: { minute: { remaining: 3, resetAt: inMs(60_000) }, day: {} },
    afterMs: [0, 60_000],
  },
  { name: 'minute without end', quota: { minute: { remaining: Infinity, resetAt: inMs(60_000) }, day: {} }, afterMs: [0, 0, 0] },
])('QuotaPace spreads its share evenly over the rest of the $name', ({ quota, afterMs }) => {
  const pace = new QuotaPace({ quota }, 0.5);
  const found = afterMs.map(() => {
    const ms = dueAfterMs(pace);
    if (quota.minute.remaining !== undefined) quota.minute.remaining -= 1;
    if (quota.day.remaining !== undefined) quota.day.remaining -= 1;
    pace.noteRequest();
    return ms;
  });
  expect(found).toEqual(afterMs);
});

test.each([
  { title: 'no end is known', left: 60, lists: 30, resetAfter: () => undefined },
  { title: 'the Reset moves', left: 40, lists: 20, resetAfter: (oldestMs: number) => new Date(oldestMs + MINUTE_MS) },
])('QuotaPace takes half of the $left that others leave, minute after minute, where requests leave it one by one and $title', (world) => {
  const sent: number[] = [];
  const client = {
    get quota() {
      const recent = sent.filter((atMs) => atMs > Date.now() - MINUTE_MS);
      return { minute: { limit: 60, remaining: world.left - recent.length, resetAt: world.resetAfter(recent[0] ?? Date.now()) }, day: {} };
    },
  };
  const pace = new QuotaPace(client, 0.5);
  for (let list = 0; list < 10 * world.lists; list++) {
    dueAfterMs(pace);
    sent.push(Date.now());
    pace.noteRequest();
  }
  const minutes = Map.groupBy(sent, (atMs) => Math.floor((atMs - NOW_MS) / MINUTE_MS));
  const counts = Array.from({ length: 8 }, (_, minute) => minutes.get(minute + 1)?.length ?? 0);
  expect(Math.min(...counts)).toBeGreaterThanOrEqual(world.lists - 2);
  expect(Math.max(...counts)).toBeLessThanOrEqual(world.lists + 2);
});

test('QuotaPace counts what lists used as used no longer than until the end of the minute, which it may learn late', () => {
  const quota: Quota = { minute: { remaining: 3 }, day: {} };
  const pace = new QuotaPace({ quota }, 0.5);
  pace.noteRequest();
  quota.minute = { remaining: 2, resetAt: inMs(10_000) };
  expect(pace.dueInMs).toBe(1_000);
  vi.advanceTimersByTime(10_000);
  quota.minute = { remaining: 8, resetAt: inMs(70_000) };
  expect(dueAfterMs(pace)).toBe(4_000);
});

test('QuotaPace does not count the lists of a minute that has ended, even if none has been sent since', () => {
  const quota: Quota = { minute: { remaining: 3, resetAt: inMs(40_000) }, day: {} };
  const pace = new QuotaPace({ quota }, 0.5);
  pace.noteRequest();
  pace.noteRequest();
  vi.advanceTimersByTime(45_000);
  quota.minute = { remaining: 3, resetAt: inMs(55_000) };
  expect(pace.dueInMs).toBeLessThanOrEqual(0);
});

test('QuotaPace does not count the lists of ten minutes ago as those of the minute before', () => {
  const quota: Quota = { minute: { limit: 60, remaining: 30 }, day: {} };
  const pace = new QuotaPace({ quota }, 0.5);
  for (let list = 0; list < 30; list++) pace.noteRequest();
  vi.advanceTimersByTime(10 * MINUTE_MS);
  pace.noteRequest();
  quota.minute = { limit: 60, remaining: 29 };
  expect(dueAfterMs(pace)).toBe(4_000);
});

test("QuotaPace counts a minute's lists no longer than that minute, even if the machine's clock is set back", () => {
  const quota: Quota = { minute: { remaining: 1, resetAt: inMs(60_000) }, day: {} };
  const pace = new QuotaPace({ quota }, 0.5);
  for (let list = 0; list < 9; list++) pace.noteRequest();
  vi.setSystemTime(NOW_MS - HOUR_MS);
  expect(pace.dueInMs).toBeGreaterThan(0);
  vi.advanceTimersByTime(MINUTE_MS);
  quota.minute = { remaining: 8, resetAt: inMs(120_000) };
  expect(dueAfterMs(pace)).toBe(0);
});

test('QuotaPace has no list due before the service opens the key again', () => {
  const quota = { minute: {}, day: {}, closedUntil: new Date(NOW_MS + 700) };
  const pace = new QuotaPace({ quota }, 0.5);
  expect(pace.dueInMs).toBe(700);
  vi.advanceTimersByTime(700);
  expect(pace.dueInMs).toBeLessThanOrEqual(0);
});
