import { expect, test, vi } from 'vitest';
import { failure, item } from '../support/answers.ts';
import { scriptedClient } from '../support/client.ts';
import { rejectionOf } from '../support/outcome.ts';
import { holdTime, NOW_MS } from '../support/time.ts';

holdTime();

const HOUR_MS = 3_600_000;
const imf = (ms: number) => new Date(ms).toUTCString();
const rfc850 = (ms: number) => {
  const [, day, month, year = '', time] = imf(ms).split(' ');
  return `Saturday, ${day}-${month}-${year.slice(2)} ${time} GMT`;
};
const asctime = (ms: number) => {
  const [, day = '', month, year, time] = imf(ms).split(' ');
  return `Sat ${month} ${String(Number(day)).padStart(2)} ${time} ${year}`;
};

/** The time between the first request of an update, which got this answer, and the second. */
async function waitAfter(status: number, headers: Record<string, string>): Promise<number> {
  const sentAtMs: number[] = [];
  const answer = (give: () => Response) => () => {
    sentAtMs.push(Date.now() - NOW_MS);
    return give();
  };
  const { client } = scriptedClient([answer(() => failure(status, headers)), answer(() => item(1))], { plan: 'unlimited' });
  const updated = client.updateInventory(1, { quantity: 1 });
  await vi.advanceTimersByTimeAsync(121_000);
  await updated;
  return (sentAtMs[1] ?? Number.NaN) - (sentAtMs[0] ?? 0);
}

const LATER = NOW_MS + 20_000;
test.each<[string, Record<string, string>, number]>([
  ['seconds', { 'retry-after': '20' }, 20_000],
  ['a fraction', { 'retry-after': '2.25' }, 2_250],
  ['white space', { 'retry-after': '  20\t' }, 20_000],
  ['leading zeros', { 'retry-after': '0020' }, 20_000],
  ['several values', { 'retry-after': '5, 20, 7' }, 20_000],
  ['garbage beside a value', { 'retry-after': 'soon, 20' }, 20_000],
  ['a date', { 'retry-after': imf(LATER) }, 20_000],
  ['a date of RFC 850', { 'retry-after': rfc850(LATER) }, 20_000],
  ['a date of asctime', { 'retry-after': asctime(LATER) }, 20_000],
  ['a date beside seconds', { 'retry-after': `5, ${imf(LATER)}` }, 20_000],
  ["a date by a server's clock that is hours ahead", { date: imf(NOW_MS + 9 * HOUR_MS), 'retry-after': imf(LATER + 9 * HOUR_MS) }, 20_000],
  ["a date by a server's clock that is hours behind", { date: imf(NOW_MS - 9 * HOUR_MS), 'retry-after': imf(LATER - 9 * HOUR_MS) }, 20_000],
  ['seconds beside a clock that is hours off', { date: imf(NOW_MS - 9 * HOUR_MS), 'retry-after': '20' }, 20_000],
  ['zero', { 'retry-after': '0' }, 500],
  ['a date in the past by the clock of the server', { date: imf(NOW_MS), 'retry-after': imf(NOW_MS - HOUR_MS) }, 500],
  ['a date in the past by the clock of the machine alone', { 'retry-after': imf(NOW_MS - HOUR_MS) }, 1_000],
  ['a negative number', { 'retry-after': '-20' }, 1_000],
  ['a number with an exponent', { 'retry-after': '1e3' }, 1_000],
  ['a hexadecimal number', { 'retry-after': '0x20' }, 1_000],
  ['a unit', { 'retry-after': '20s' }, 1_000],
  ['a date that no month has', { 'retry-after': 'Sat, 31 Nov 2026 10:00:20 GMT' }, 1_000],
  ['a date of another form', { 'retry-after': new Date(LATER).toISOString() }, 1_000],
  ['a word', { 'retry-after': 'soon' }, 1_000],
  ['an empty value', { 'retry-after': '' }, 1_000],
  ['no Retry-After', {}, 1_000],
])('a 429 with %s is waited for exactly', async (_name, headers, waitMs) => {
  const waited = await waitAfter(429, headers);
  expect(waited).toBeGreaterThanOrEqual(waitMs);
  expect(waited).toBeLessThan(waitMs + 50);
});

test.each([408, 425, 500, 502, 503, 504, 599])('a Retry-After of a %i is never shortened', async (status) => {
  const waited = await waitAfter(status, { 'retry-after': '20' });
  expect(waited).toBeGreaterThanOrEqual(20_000);
  expect(waited).toBeLessThan(20_100);
});

test.each(['999999999', '9'.repeat(400), imf(NOW_MS + 900 * HOUR_MS), 'Fri, 31 Dec 9999 23:59:59 GMT'])(
  'a call rejects at once if a Retry-After of %s is longer than its `maxWaitMs`',
  async (retryAfter) => {
    for (const status of [429, 500, 503]) {
      const { client, seen } = scriptedClient([() => failure(status, { 'retry-after': retryAfter })]);
      const error = await rejectionOf(client.updateInventory(1, { quantity: 1 }));
      expect(error).toMatchObject({ status, attempts: 1, retryAt: expect.any(Date), retryAfterMs: expect.any(Number) });
      expect(seen).toHaveLength(1);
    }
  },
);

const limits = (limit: unknown, remaining: unknown, reset: unknown) => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(reset),
});
const NOW_S = NOW_MS / 1000;
test.each<[string, Record<string, string>]>([
  ['words', limits('many', 'few', 'soon')],
  ['negative numbers', limits(-1, -5, -9)],
  ['fractions', limits('60.5', '0.0', `${NOW_S + 30}.5`)],
  ['exponents', limits('6e1', '0e0', '1e9')],
  ['huge digits', limits('9'.repeat(30), '0', '9'.repeat(30))],
  ['a Reset in the past', limits(60, 0, NOW_S - 100)],
  ['a Reset in the far future', limits(60, 0, NOW_S + 90_000_000)],
  ['every header twice', limits('60, 60', '0, 0', `${NOW_S + 30}, ${NOW_S + 30}`)],
  ['two headers of three', { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0' }],
  ['empty values', limits('', '', '')],
  ['more left than the limit', limits(60, 5000, NOW_S + 30)],
])('limits reported in %s hold up no call', async (_name, headers) => {
  const { client, seen } = scriptedClient([() => item(1)]);
  const { client: limited, seen: seenLimited } = scriptedClient([
    () => new Response('{"petId":1,"quantity":1,"status":"sold"}', { headers }),
  ]);
  const calls = Promise.all(
    [1, 2, 3].flatMap(() => [limited.updateInventory(1, { quantity: 1 }), client.updateInventory(1, { quantity: 1 })]),
  );
  await vi.advanceTimersByTimeAsync(1_000);
  await calls;
  expect([seen.length, seenLimited.length]).toEqual([3, 3]);
});

test.each([
  ['seconds', NOW_S + 30],
  ['milliseconds', NOW_MS + 30_000],
  ['seconds to go', 30],
])('a call waits for the end of a used-up window whose Reset is reported in %s', async (_name, reset) => {
  const headers = limits(60, 0, reset);
  const { client, seen } = scriptedClient([() => new Response('[]', { headers }), () => item(1)]);
  await client.listInventory();
  const next = client.updateInventory(1, { quantity: 1 });
  await vi.advanceTimersByTimeAsync(29_900);
  expect(seen).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2_200);
  expect(await next).toMatchObject({ petId: 1 });
});
