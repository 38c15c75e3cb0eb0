import { createSandbox, type SandboxOptions } from 'petstore-inventory/sandbox';
import { describe, expect, test } from 'vitest';
import { asked } from './ask.ts';

const START_MS = Date.parse('2026-11-21T10:00:45.250Z');
const FREE = { requestsPerMinute: 60, requestsPerDay: 40 };

/** Sends one request at each of these milliseconds after the start, and gives `limit/remaining/reset`, a `-` for what is missing. */
async function told(options: SandboxOptions, atMs: readonly number[]): Promise<string[]> {
  let nowMs = START_MS;
  const sandbox = createSandbox({ plans: { free: FREE }, ban: false, clock: () => nowMs, ...options });
  const lines: string[] = [];
  for (const ms of atMs) {
    nowMs = START_MS + ms;
    const { headers } = await asked(sandbox, '/inventory');
    lines.push(['limit', 'remaining', 'reset'].map((field) => headers.get(`x-ratelimit-${field}`) ?? '-').join('/'));
  }
  return lines;
}

describe('the limit headers', () => {
  test('describe the minute, the day or each in turn', async () => {
    expect(await told({ limitHeaders: 'minute' }, [0])).toEqual(['60/59/1795255260']);
    expect(await told({ limitHeaders: 'day' }, [0])).toEqual(['40/39/1795305600']);
    expect(await told({ limitHeaders: { window: 'alternate' } }, [0, 0, 0])).toEqual([
      '60/59/1795255260',
      '40/38/1795305600',
      '60/57/1795255260',
    ]);
  });

  test('describe the minute if a plan has no daily limit', async () => {
    expect(await told({ plans: { free: { requestsPerMinute: 5 } }, limitHeaders: 'day' }, [0])).toEqual(['5/4/1795255260']);
  });

  test('leave out what the options say', async () => {
    expect(await told({ limitHeaders: { omit: ['remaining'] } }, [0])).toEqual(['60/-/1795255260']);
    expect(await told({ limitHeaders: { omit: ['limit', 'reset'] } }, [0])).toEqual(['-/59/-']);
  });

  test('are on a part of the answers, chosen by the seed', async () => {
    const times = Array.from({ length: 30 }, () => 0);
    const lines = await told({ limitHeaders: { rate: 0.5 }, seed: 3 }, times);
    const again = await told({ limitHeaders: { rate: 0.5 }, seed: 3 }, times);
    const bare = lines.filter((line) => line === '-/-/-');
    expect(lines).toEqual(again);
    expect([bare.length > 5, bare.length < 25]).toEqual([true, true]);
  });

  test('give Reset in other forms, rounded up or down', async () => {
    const limitHeaders = { omit: ['limit', 'remaining'] } as const;
    expect(await told({ limitHeaders: { ...limitHeaders, reset: 'milliseconds' } }, [0.5])).toEqual(['-/-/1795255260000']);
    expect(await told({ limitHeaders: { ...limitHeaders, reset: 'seconds-to-go' } }, [0])).toEqual(['-/-/15']);
    expect(await told({ limitHeaders: { ...limitHeaders, reset: 'seconds-to-go', rounding: 'down' } }, [0])).toEqual(['-/-/14']);
    expect(await told({ policy: 'sliding-log', limitHeaders: { ...limitHeaders, rounding: 'down' } }, [0])).toEqual(['-/-/1795255305']);
  });

  test('give the Remaining of a while ago', async () => {
    const remaining = async (options: SandboxOptions) =>
      (await told({ limitHeaders: { lagMs: 200 }, ...options }, [0, 100, 199, 200, 400, 14_849, 14_950])).map((line) => line.split('/')[1]);
    expect(await remaining({})).toEqual(['60', '60', '60', '59', '56', '55', '60']);
    expect(await remaining({ policy: 'token-bucket' })).toEqual(['60', '60', '60', '59', '56', '60', '60']);
  });

  test('give an old Remaining that still counts requests that cost nothing in the end', async () => {
    const counting = { uncounted: [503] };
    const faults = [{ at: 1, status: 503 }];
    expect(await told({ limitHeaders: { lagMs: 5, omit: ['reset'] }, counting, faults }, [0, 10, 20])).toEqual([
      '60/60/-',
      '60/60/-',
      '60/59/-',
    ]);
  });

  test('give the plan or the burst as the limit of a token bucket', async () => {
    const bucket = { burst: 10, plans: { free: { requestsPerMinute: 60 } }, policy: 'token-bucket' } as const;
    expect(await told({ ...bucket, limitHeaders: { omit: ['reset'] } }, [0])).toEqual(['60/9/-']);
    expect(await told({ ...bucket, limitHeaders: { omit: ['reset'], limit: 'burst' } }, [0])).toEqual(['10/9/-']);
  });
});

describe('the clocks of the headers', () => {
  const answered = async (options: SandboxOptions) => {
    const { headers } = await asked(createSandbox({ clock: () => START_MS, ...options }), '/inventory');
    return [headers.get('date'), headers.get('x-ratelimit-reset')];
  };

  test('Date is missing or wrong, and nothing else changes', async () => {
    expect(await answered({ date: false })).toEqual([null, '1795255260']);
    expect(await answered({ date: { aheadMs: -5_300 } })).toEqual(['Sat, 21 Nov 2026 10:00:39 GMT', '1795255260']);
  });

  test('Date and Reset follow the clock of the node that answers', async () => {
    expect(await answered({ nodes: [2_000] })).toEqual(['Sat, 21 Nov 2026 10:00:47 GMT', '1795255262']);
    expect(await answered({ nodes: [2_000], limitHeaders: { reset: 'seconds-to-go' } })).toEqual(['Sat, 21 Nov 2026 10:00:47 GMT', '15']);
  });

  test('every node answers, and all share one count', async () => {
    const sandbox = createSandbox({ clock: () => START_MS, nodes: [0, 2_000] });
    const answers = await Promise.all(Array.from({ length: 20 }, () => asked(sandbox, '/inventory')));
    expect(new Set(answers.map(({ headers }) => headers.get('x-ratelimit-reset')))).toEqual(new Set(['1795255260', '1795255262']));
    expect(answers.map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))).toEqual(
      Array.from({ length: 20 }, (_, index) => 59 - index),
    );
  });
});
