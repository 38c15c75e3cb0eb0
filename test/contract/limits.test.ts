import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRetryAfter, readAnswer, readRateLimit } from '../../src/contract/limits.ts';
import { FUZZ } from '../support/fuzz.ts';
import { ownWorkMs } from '../support/own-work.ts';

const NOW_MS = Date.parse('2026-11-21T10:00:00Z');
const NOW_SECONDS = NOW_MS / 1000;
const HOUR_MS = 3_600_000;
const INSTANTS = { dateMs: NOW_MS, receivedAtMs: NOW_MS };

function limits(limit: unknown, remaining: unknown, reset: unknown): Headers {
  return new Headers({
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(reset),
  });
}

/** Whatever a header may hold. */
const headerText = fc.oneof(fc.stringMatching(/^[ -~]{0,40}$/), fc.integer().map(String), fc.double().map(String));

describe('readRateLimit', () => {
  test('reads three integers, the reset as a Unix timestamp', () => {
    expect(readRateLimit(limits(60, 42, NOW_SECONDS + 30), INSTANTS)).toEqual({ limit: 60, remaining: 42, resetAtMs: NOW_MS + 30_000 });
  });

  test('reads a reset above 1e11 as milliseconds', () => {
    expect(readRateLimit(limits(60, 42, NOW_MS + 30_500), INSTANTS).resetAtMs).toBe(NOW_MS + 30_500);
  });

  test('reads a reset below 1e9 as seconds from now', () => {
    expect(readRateLimit(limits(60, 42, 30), INSTANTS)).toEqual({ limit: 60, remaining: 42, resetInMs: 30_000 });
    expect(readRateLimit(limits(60, 42, 0), INSTANTS)).toMatchObject({ resetInMs: 0 });
  });

  test('reads a timestamp with a fraction, rounded up to a millisecond, but no fraction of a request or of seconds from now', () => {
    const resets = [`${NOW_SECONDS + 30}.1234`, `${NOW_MS + 30_123}.4`, '30.1234'];
    const read = resets.map((reset) => readRateLimit(limits('60.5', '42.5', reset), INSTANTS));
    expect(read).toEqual([{ resetAtMs: NOW_MS + 30_124 }, { resetAtMs: NOW_MS + 30_124 }, {}]);
  });

  test('reads a reset as a Unix timestamp where the clock shows 1970, as with fake timers', () => {
    const instants = { dateMs: 121_000, receivedAtMs: 121_000 };
    expect(readRateLimit(limits(60, 42, 180), instants)).toEqual({ limit: 60, remaining: 42, resetAtMs: 180_000 });
    expect(readRateLimit(limits(60, 42, 59), instants)).toMatchObject({ resetInMs: 59_000 });
  });

  test('reads nothing with a Limit and a Remaining of 0, as from a limiter that is switched off, unless the request was refused', () => {
    expect(readRateLimit(limits(0, 0, 0), INSTANTS)).toEqual({});
    expect(readAnswer(200, limits(0, 0, NOW_SECONDS + 30), NOW_MS)).toEqual({ status: 200, receivedAtMs: NOW_MS });
    expect(readAnswer(429, limits(0, 0, NOW_SECONDS + 30), NOW_MS)).toMatchObject({ remaining: 0, resetAtMs: NOW_MS + 30_000 });
  });

  test('caps Remaining at the limit', () => {
    expect(readRateLimit(limits(60, 61, NOW_SECONDS), INSTANTS).remaining).toBe(60);
  });

  test('ignores a reset more than 5 seconds in the past and one more than 25 hours ahead', () => {
    const resets = [NOW_SECONDS - 6, NOW_SECONDS - 5, NOW_SECONDS, NOW_SECONDS + 25 * 3600, NOW_SECONDS + 25 * 3600 + 1, 90_001];
    const read = resets.map((reset) => readRateLimit(limits(60, 42, reset), INSTANTS));
    expect(read.map(({ resetAtMs }) => resetAtMs)).toEqual([
      undefined,
      NOW_MS - 5_000,
      NOW_MS,
      NOW_MS + 25 * HOUR_MS,
      undefined,
      undefined,
    ]);
    expect(read.map(({ resetInMs }) => resetInMs)).toEqual(Array(6).fill(undefined));
  });

  test('without a `Date`, reads a reset that is up to a day further away by the clock of this machine, which may be wrong', () => {
    const hoursAhead = [-26, -25, -1, 49, 51];
    const read = hoursAhead.map((hours) => readAnswer(200, limits(60, 42, NOW_SECONDS + hours * 3_600), NOW_MS).resetAtMs);
    expect(read).toEqual([undefined, ...[-25, -1, 49].map((hours) => NOW_MS + hours * HOUR_MS), undefined]);
    expect(readAnswer(200, limits(60, 0, NOW_SECONDS - 3_600), NOW_MS).resetAtMs).toBeUndefined();
  });

  test.each(['', '-1', '1.', '1.5', '1e3', '+5', '0x10', 'sixty', 'NaN', 'Infinity', '60, 60', '1'.repeat(16)])(
    'reads the other two headers if one is %j',
    (garbage) => {
      const read = [limits(garbage, 42, NOW_SECONDS), limits(60, garbage, NOW_SECONDS), limits(60, 42, garbage)].map((headers) =>
        readRateLimit(headers, INSTANTS),
      );
      expect(read).toEqual([
        { remaining: 42, resetAtMs: NOW_MS },
        { limit: 60, resetAtMs: NOW_MS },
        { limit: 60, remaining: 42 },
      ]);
    },
  );

  test('treats a limit of 0 as missing', () => {
    expect(readRateLimit(limits(0, 0, NOW_SECONDS), INSTANTS, true)).toEqual({ remaining: 0, resetAtMs: NOW_MS });
    expect(readRateLimit(limits(0, 42, NOW_SECONDS), INSTANTS)).toEqual({ remaining: 42, resetAtMs: NOW_MS });
  });

  test('gives valid numbers or nothing for any headers', () => {
    fc.assert(
      fc.property(headerText, headerText, headerText, (limit, remaining, reset) => {
        const {
          limit: most = 1,
          remaining: left = 0,
          resetAtMs = NOW_MS,
          resetInMs = 0,
        } = readRateLimit(limits(limit, remaining, reset), INSTANTS);
        expect([most, left, resetInMs].every(Number.isSafeInteger)).toBe(true);
        expect(left >= 0 && resetInMs <= 25 * HOUR_MS && resetAtMs >= NOW_MS - 5_000 && resetAtMs <= NOW_MS + 25 * HOUR_MS).toBe(true);
      }),
      FUZZ,
    );
  });
});

describe('parseRetryAfter', () => {
  test.each([
    ['0', 0],
    ['7', 7_000],
    ['007', 7_000],
    ['0.25', 250],
    ['1.0005', 1_001],
    ['Sat, 21 Nov 2026 10:00:30 GMT', 30_000],
    ['Saturday, 21-Nov-26 10:00:30 GMT', 30_000],
    ['Sat Nov 21 10:00:30 2026', 30_000],
    ['Sat, 21 Nov 2026 09:59:30 GMT', 0],
    ['1, 20, 3', 20_000],
    ['1,20', 20_000],
    ['5, Sat, 21 Nov 2026 10:00:30 GMT', 30_000],
    ['Sat, 21 Nov 2026 10:00:30 GMT, 5', 30_000],
    ['Sat, 21 Nov 2026 10:00:30 GMT, Sat, 21 Nov 2026 10:00:40 GMT', 40_000],
    ['soon, 5', 5_000],
    ['5, , later', 5_000],
    [`${NOW_SECONDS + 30}`, 30_000],
    [`${NOW_MS + 30_500}`, 30_500],
    [`${NOW_SECONDS - 30}`, 0],
    [`${NOW_SECONDS / 2}`, (NOW_SECONDS / 2) * 1000],
  ])('reads %j as %i ms', (header, waitMs) => {
    expect(parseRetryAfter(header, NOW_MS)).toBe(waitMs);
  });

  test.each([
    '',
    ' ',
    ',',
    'soon',
    '-5',
    '+5',
    '1e3',
    '.5',
    '5.',
    '0x5',
    '5 s',
    'NaN',
    'Infinity',
    '2026-11-21T10:00:30Z',
    'Sat, 31 Feb 2026',
  ])('treats %j as missing', (header) => {
    expect(parseRetryAfter(header, NOW_MS)).toBeUndefined();
  });

  test('gives a wait that a Date can hold, however many digits there are', () => {
    const waitMs = parseRetryAfter('9'.repeat(400), NOW_MS) ?? Number.NaN;
    expect(new Date(NOW_MS + waitMs).getTime()).toBe(NOW_MS + 1e15);
  });

  test('never shortens a wait in seconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e9 }), fc.integer({ min: 0, max: 999_999 }), (seconds, fraction) => {
        const text = `${seconds}.${String(fraction).padStart(6, '0')}`;
        expect(parseRetryAfter(text, NOW_MS)).toBeGreaterThanOrEqual(Math.floor(Number(text) * 1000));
      }),
      FUZZ,
    );
  });

  test('gives a wait of 0 or more, or nothing, for any text', () => {
    fc.assert(
      fc.property(headerText, (text) => {
        expect(parseRetryAfter(text, NOW_MS) ?? 0).toBeGreaterThanOrEqual(0);
      }),
      FUZZ,
    );
  });

  test('reads 60 kB of commas and blanks in milliseconds', () => {
    const beganMs = ownWorkMs();
    expect(parseRetryAfter(' ,'.repeat(15_000) + ' '.repeat(30_000), NOW_MS)).toBeUndefined();
    expect(ownWorkMs() - beganMs).toBeLessThan(1_000);
  });
});

describe('readAnswer', () => {
  test('reads status, time, limits and wait of one answer', () => {
    const headers = limits(60, 0, NOW_SECONDS + 30);
    headers.set('Date', 'Sat, 21 Nov 2026 10:00:00 GMT');
    headers.set('Retry-After', '12');
    expect(readAnswer(429, headers, NOW_MS + 5)).toEqual({
      status: 429,
      receivedAtMs: NOW_MS + 5,
      dateMs: NOW_MS,
      limit: 60,
      remaining: 0,
      resetAtMs: NOW_MS + 30_000,
      retryAfterMs: 12_000,
    });
  });

  test("reads values with white space behind them, which Node's fetch does not cut off", () => {
    const plain = limits(60, 0, NOW_SECONDS + 30);
    for (const [name, value] of Object.entries({ Date: 'Sat, 21 Nov 2026 10:00:00 GMT', 'Retry-After': '12' })) plain.set(name, value);
    const padded = { get: (name: string) => (plain.has(name) ? `${plain.get(name)} \t` : null) };
    expect(readAnswer(429, padded, NOW_MS)).toEqual(readAnswer(429, plain, NOW_MS));
    plain.set('Age', '5');
    expect(readAnswer(429, padded, NOW_MS)).toEqual(readAnswer(429, plain, NOW_MS));
  });

  test('has no fields for what the headers do not say', () => {
    expect(readAnswer(429, new Headers({ Date: 'today', 'Retry-After': 'soon' }), NOW_MS)).toEqual({ status: 429, receivedAtMs: NOW_MS });
  });

  test.each([200, 204, 299])('ignores the Retry-After of a %i, which did what was asked', (status) => {
    expect(readAnswer(status, new Headers({ 'Retry-After': '12' }), NOW_MS)).toEqual({ status, receivedAtMs: NOW_MS });
  });

  test.each([300, 404, 503])('reads the Retry-After of a %i', (status) => {
    expect(readAnswer(status, new Headers({ 'Retry-After': '12' }), NOW_MS).retryAfterMs).toBe(12_000);
  });

  test('reads of a cached answer only how long to wait: its limits and its time are those of another moment', () => {
    const headers = limits(60, 0, NOW_SECONDS + 30);
    headers.set('Date', 'Sat, 21 Nov 2026 10:00:00 GMT');
    headers.set('Retry-After', '12');
    headers.set('Age', '5');
    expect(readAnswer(429, headers, NOW_MS)).toEqual({ status: 429, receivedAtMs: NOW_MS, retryAfterMs: 12_000 });
    expect(readAnswer(200, headers, NOW_MS)).toEqual({ status: 200, receivedAtMs: NOW_MS });
  });

  test.each([
    ['at the time of Date and the Age since', '60', 'Sat, 21 Nov 2026 09:59:00 GMT'],
    ['on our clock without a Date', '60', undefined],
  ])('reads the date in Retry-After of a cached answer %s', (_how, age, date) => {
    const headers = new Headers({ 'Retry-After': 'Sat, 21 Nov 2026 10:01:30 GMT', age, ...(date && { date }) });
    expect(readAnswer(503, headers, NOW_MS).retryAfterMs).toBe(90_000);
  });

  test.each(['Sat, 21 Nov 2026 09:59:54 GMT', `${NOW_SECONDS - 6}`])(
    'reads no wait from a Retry-After of %s without a Date: the clock of this machine is ahead',
    (header) => {
      expect(readAnswer(429, new Headers({ 'Retry-After': header }), NOW_MS).retryAfterMs).toBeUndefined();
      expect(readAnswer(429, new Headers({ 'Retry-After': `${header}, 3` }), NOW_MS).retryAfterMs).toBe(3_000);
    },
  );

  test('reads a Retry-After of up to 5 seconds ago without a Date as no wait, and with a Date one of any age', () => {
    expect(readAnswer(429, new Headers({ 'Retry-After': 'Sat, 21 Nov 2026 09:59:55 GMT' }), NOW_MS).retryAfterMs).toBe(0);
    const headers = { 'Retry-After': 'Sat, 21 Nov 2026 09:00:00 GMT', Date: 'Sat, 21 Nov 2026 10:00:00 GMT' };
    expect(readAnswer(429, new Headers(headers), NOW_MS).retryAfterMs).toBe(0);
  });

  test('takes no wait of minutes for an instant, even if the clock of a device shows 1970', () => {
    expect(parseRetryAfter('60', 3_600_000)).toBe(60_000);
  });

  test.each(['0', '-1', 'old'])('reads an answer with an Age of %s like one without', (age) => {
    const headers = limits(60, 0, NOW_SECONDS + 30);
    headers.set('Age', age);
    expect(readAnswer(200, headers, NOW_MS)).toMatchObject({ limit: 60, remaining: 0, resetAtMs: NOW_MS + 30_000 });
  });

  test("reads dates against the server's clock if ours is wrong", () => {
    const hourAgo = new Headers({ Date: 'Sat, 21 Nov 2026 09:00:00 GMT', 'Retry-After': 'Sat, 21 Nov 2026 09:00:30 GMT' });
    expect(readAnswer(429, hourAgo, NOW_MS).retryAfterMs).toBe(30_000);
    const behind = limits(60, 1, NOW_SECONDS - 3600 + 30);
    behind.set('Date', 'Sat, 21 Nov 2026 09:00:00 GMT');
    expect(readAnswer(200, behind, NOW_MS).resetAtMs).toBe(NOW_MS - HOUR_MS + 30_000);
  });

  test('reads dates against our clock if the server sends no Date', () => {
    expect(readAnswer(429, new Headers({ 'Retry-After': 'Sat, 21 Nov 2026 10:00:30 GMT' }), NOW_MS).retryAfterMs).toBe(30_000);
  });
});
