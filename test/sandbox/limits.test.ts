import { createSandbox, type SandboxOptions } from 'petstore-inventory/sandbox';
import { describe, expect, test } from 'vitest';
import { asked } from './ask.ts';

const START_MS = Date.parse('2026-11-21T10:00:45.250Z');

/** Sends one request at each of these seconds after the start, and gives `status/remaining/seconds to the reset`. */
async function story(options: SandboxOptions, seconds: readonly number[]): Promise<string[]> {
  let nowMs = START_MS;
  const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 2 } }, ban: false, clock: () => nowMs, ...options });
  const lines: string[] = [];
  for (const second of seconds) {
    nowMs = START_MS + second * 1_000;
    const { status, headers } = await asked(sandbox, '/inventory');
    const resetInMs = Number(headers.get('x-ratelimit-reset')) * 1_000 - nowMs;
    lines.push(
      `${status}/${headers.get('x-ratelimit-remaining')}/${resetInMs / 1_000}${status === 429 ? ` wait ${headers.get('retry-after')}` : ''}`,
    );
  }
  return lines;
}

describe('the ways of counting', () => {
  test('fixed-clock: windows turn with the clock', async () => {
    expect(await story({ policy: 'fixed-clock' }, [0, 1, 2, 14.75])).toEqual([
      '200/1/14.75',
      '200/0/13.75',
      '429/0/12.75 wait 13',
      '200/1/60',
    ]);
  });

  test('fixed-first: a window begins with its first request', async () => {
    expect(await story({ policy: 'fixed-first' }, [0, 1, 59, 60])).toEqual([
      '200/1/60.75',
      '200/0/59.75',
      '429/0/1.75 wait 1',
      '200/1/60.75',
    ]);
  });

  test('sliding-log: a request is forgotten a minute after it came', async () => {
    expect(await story({ policy: 'sliding-log' }, [0, 20, 30, 60, 61, 80])).toEqual([
      '200/1/60.75',
      '200/0/40.75',
      '429/0/30.75 wait 30',
      '200/0/20.75',
      '429/0/19.75 wait 19',
      '200/0/40.75',
    ]);
  });

  test('token-bucket: tokens come back evenly', async () => {
    expect(await story({ policy: 'token-bucket' }, [0, 0, 10, 30, 90])).toEqual([
      '200/1/30.75',
      '200/0/60.75',
      '429/0/50.75 wait 20',
      '200/0/60.75',
      '200/1/30.75',
    ]);
  });

  test('token-bucket: the burst does not depend on the rate', async () => {
    const plans = { free: { requestsPerMinute: 6 } };
    expect(await story({ plans, policy: 'token-bucket', burst: 2 }, [0, 0, 0, 10, 60])).toEqual([
      '200/1/10.75',
      '200/0/20.75',
      '429/0/20.75 wait 10',
      '200/0/20.75',
      '200/1/10.75',
    ]);
  });

  test('sliding-counter: the window before counts with the part of it that is less than a minute old', async () => {
    expect(await story({ policy: 'sliding-counter' }, [0, 1, 2, 44.5, 44.75, 45, 74.75, 194.75])).toEqual([
      '200/1/14.75',
      '200/0/13.75',
      '429/0/12.75 wait 43',
      '429/0/30.25 wait 1',
      '200/0/30',
      '429/0/29.75 wait 30',
      '200/0/60',
      '200/1/60',
    ]);
  });

  test('sliding-counter: a limit of one opens when the window after its request has ended', async () => {
    const plans = { free: { requestsPerMinute: 1 } };
    expect(await story({ plans, policy: 'sliding-counter' }, [0, 0, 74.5, 74.75])).toEqual([
      '200/0/14.75',
      '429/0/14.75 wait 75',
      '429/0/0.25 wait 1',
      '200/0/60',
    ]);
  });

  test('a sliding log of thousands forgets the old ones', async () => {
    let nowMs = 0;
    const sandbox = createSandbox({ policy: 'sliding-log', plans: { free: { requestsPerMinute: 3_000 } }, clock: () => nowMs });
    await Promise.all(Array.from({ length: 3_000 }, () => asked(sandbox, '/inventory/0')));
    nowMs = 60_000;
    expect((await asked(sandbox, '/inventory')).headers.get('x-ratelimit-remaining')).toBe('2999');
  });

  test('the day may be counted in another way than the minute', async () => {
    const plans = { free: { requestsPerMinute: 9, requestsPerDay: 1 } };
    expect(await story({ plans, policy: { minute: 'token-bucket', day: 'fixed-first' } }, [0, 1])).toEqual([
      '200/8/6.75',
      '429/8/5.75 wait 86399',
    ]);
  });
});

describe('a 429 has', () => {
  const limited = async (options: SandboxOptions) => {
    const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 1 } }, clock: () => START_MS, ...options });
    await asked(sandbox, '/inventory');
    return asked(sandbox, '/inventory');
  };

  test('the wait as a date', async () => {
    expect((await limited({ retryAfter: 'date' })).headers.get('retry-after')).toBe('Sat, 21 Nov 2026 10:01:00 GMT');
  });

  test('the wait as seconds with a fraction', async () => {
    expect((await limited({ retryAfter: 'decimal' })).headers.get('retry-after')).toBe('14.75');
  });

  test('a wait that ends before the window opens', async () => {
    expect((await limited({ retryAfter: 'short' })).headers.get('retry-after')).toBe('14');
  });

  test('the wait as a date on the clock of the node that answers', async () => {
    const node = await limited({ retryAfter: 'date', nodes: [-30_000] });
    expect(node.headers.get('retry-after')).toBe('Sat, 21 Nov 2026 10:00:30 GMT');
  });

  test('the wait as a date that is rounded once, up to which requests are early', async () => {
    let nowMs = START_MS;
    const sandbox = createSandbox({
      plans: { free: { requestsPerMinute: 1 } },
      policy: 'fixed-first',
      retryAfter: 'date',
      nodes: [500],
      clock: () => nowMs,
    });
    await asked(sandbox, '/inventory');
    const refused = await asked(sandbox, '/inventory');
    const endsAtMs = Date.parse(refused.headers.get('retry-after') ?? '') - 500;
    for (nowMs of [endsAtMs - 1, endsAtMs]) await asked(sandbox, '/inventory');
    expect(endsAtMs - START_MS).toBe(60_250);
    expect(sandbox.requests.map(({ duringPenalty }) => duringPenalty)).toEqual([false, false, true, false]);
  });

  test('no wait at all', async () => {
    expect((await limited({ retryAfter: 'missing' })).headers.has('retry-after')).toBe(false);
  });

  test('no body at all', async () => {
    expect(await (await limited({ rateLimitBody: 'empty' })).text()).toBe('');
  });

  test('the tightest window in the headers, if the option says so', async () => {
    const plans = { free: { requestsPerMinute: 9, requestsPerDay: 4 } };
    expect(await story({ plans, limitHeaders: 'tightest' }, [0])).toEqual(['200/3/50354.75']);
  });
});

describe('the ban of a key that keeps asking', () => {
  test('begins with the first refused request beyond the tolerated ones, and ends', async () => {
    let nowMs = START_MS;
    const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 1 } }, ban: { after: 2, forMs: 90_000 }, clock: () => nowMs });
    const sent = await Promise.all(Array.from({ length: 6 }, () => asked(sandbox, '/inventory')));
    const statuses = sent.map(({ status }) => status);
    const banned = await asked(sandbox, '/inventory');
    nowMs += 90_000;
    statuses.push((await asked(sandbox, '/inventory')).status);
    expect(statuses).toEqual([200, 429, 429, 429, 401, 401, 200]);
    expect(banned.headers.get('www-authenticate')).toBe('Bearer');
    expect(await banned.json()).toMatchObject({ code: 'key_banned', status: 401 });
    expect(sandbox.report()).toMatchObject({ bans: 1, duringPenalty: 3 });
  });

  test('counts refused requests, not those of another program of the key that were admitted', async () => {
    let nowMs = START_MS;
    const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 3 } }, ban: { after: 1, forMs: 1_000 }, clock: () => nowMs });
    const burst = (count: number) => Promise.all(Array.from({ length: count }, () => asked(sandbox, '/inventory')));
    const refused = (await burst(4))[3];
    nowMs += 14_750;
    const atTheTurn = await burst(3);
    nowMs += 250;
    const whoWaited = await asked(sandbox, '/inventory');
    expect(refused?.headers.get('retry-after')).toBe('15');
    expect([...atTheTurn, whoWaited].map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(sandbox.report()).toMatchObject({ bans: 0, duringPenalty: 3 });
  });

  test('is not delayed by an admitted request within the penalty', async () => {
    let nowMs = START_MS;
    const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 1 } }, ban: { after: 1, forMs: 90_000 }, clock: () => nowMs });
    const statuses: number[] = [];
    const askAfter = async (ms: number) => {
      nowMs += ms;
      statuses.push((await asked(sandbox, '/inventory')).status);
    };
    await askAfter(0);
    await askAfter(0);
    await askAfter(1);
    await askAfter(14_749);
    await askAfter(1);
    expect(statuses).toEqual([200, 429, 429, 200, 401]);
  });

  test('forgets a penalty after a client has waited for its end', async () => {
    expect(await story({ ban: { after: 1, forMs: 1 }, policy: 'fixed-first' }, [0, 0, 1, 3, 70, 70, 71, 72])).toHaveLength(8);
    const lines = await story({ ban: { after: 1, forMs: 1_000 }, policy: 'fixed-first' }, [0, 0, 1, 3, 70, 70, 71, 72]);
    expect(lines.map((line) => line.slice(0, 3))).toEqual(['200', '200', '429', '429', '200', '200', '429', '429']);
  });
});

describe('the clock', () => {
  test('can be set, stopped, moved and released', () => {
    let nowMs = 1_000;
    const { clock } = createSandbox({ clock: { now: () => nowMs } });
    clock.set(new Date(5_000));
    nowMs += 10;
    const running = clock.now();
    clock.release();
    clock.hold();
    nowMs += 10;
    const held = clock.now();
    clock.advance(100);
    const moved = clock.now();
    clock.release();
    nowMs += 10;
    expect([running, held, moved, clock.now()]).toEqual([5_010, 5_010, 5_110, 5_120]);
  });

  test('wakes waiting requests when it is released and when it is moved while it runs', async () => {
    const { clock } = createSandbox();
    const leave = new AbortController();
    clock.hold();
    const waits = [clock.sleep(3_600_000), clock.sleep(20), clock.sleep(7_200_000, leave.signal), clock.sleep(1, AbortSignal.abort())];
    clock.release();
    await waits[1];
    clock.advance(3_600_000);
    leave.abort();
    expect(await Promise.all(waits)).toHaveLength(4);
  });
});
