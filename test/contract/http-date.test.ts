import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHttpDate } from '../../src/contract/http-date.ts';
import { FUZZ } from '../support/fuzz.ts';

const NOW_MS = Date.parse('2026-11-21T10:00:00Z');
const RFC_EXAMPLE_MS = Date.parse('1994-11-06T08:49:37Z');

describe('parseHttpDate', () => {
  test.each([
    ['IMF-fixdate', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['the form of RFC 850', 'Sunday, 06-Nov-94 08:49:37 GMT'],
    ["asctime's form", 'Sun Nov  6 08:49:37 1994'],
  ])('reads %s', (_form, text) => {
    expect(parseHttpDate(text, NOW_MS)).toBe(RFC_EXAMPLE_MS);
  });

  test("reads asctime's form with a day of two digits", () => {
    expect(parseHttpDate('Wed Nov 16 08:49:37 1994', NOW_MS)).toBe(Date.parse('1994-11-16T08:49:37Z'));
  });

  test('reads two digits of a year up to 50 years ahead as the future, and beyond as the past', () => {
    expect(parseHttpDate('Sunday, 06-Nov-76 08:49:37 GMT', NOW_MS)).toBe(Date.parse('2076-11-06T08:49:37Z'));
    expect(parseHttpDate('Sunday, 06-Nov-77 08:49:37 GMT', NOW_MS)).toBe(Date.parse('1977-11-06T08:49:37Z'));
  });

  test('reads a leap second as the second after it', () => {
    expect(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', NOW_MS)).toBe(Date.parse('2017-01-01T00:00:00Z'));
  });

  test.each([
    '',
    'soon',
    '120',
    '2026-11-21T10:00:00Z',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37',
    'sun, 06 nov 1994 08:49:37 gmt',
    'Sun, 06 Foo 1994 08:49:37 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Sun, 32 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 24:49:37 GMT',
    'Sun, 06 Nov 1994 08:60:37 GMT',
    'Sun, 06 Nov 1994 08:49:61 GMT',
    ' Sun, 06 Nov 1994 08:49:37 GMT',
    'Mon, 01 Jan 0001 00:00:00 GMT',
    'Mon Jan  1 00:00:00 0099',
    'Sun, 06 Nov 1994 08:49:37 GMT, 120',
  ])('refuses %j', (text) => {
    expect(parseHttpDate(text, NOW_MS)).toBeUndefined();
  });

  test.each(['Tue, 31 Feb 2026 00:00:00 GMT', 'Sun, 29 Feb 2026 00:00:00 GMT', 'Fri, 31 Apr 2026 00:00:00 GMT'])(
    'refuses %j: there is no such day',
    (text) => {
      expect(parseHttpDate(text, NOW_MS)).toBeUndefined();
    },
  );

  test('reads back what Date writes, whatever the second', () => {
    const seconds = fc.integer({ min: Date.UTC(1971, 0) / 1000, max: Date.UTC(9999, 0) / 1000 });
    fc.assert(
      fc.property(seconds, (second) => {
        expect(parseHttpDate(new Date(second * 1000).toUTCString(), NOW_MS)).toBe(second * 1000);
      }),
      FUZZ,
    );
  });

  test('gives a whole number of seconds or nothing for any text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect((parseHttpDate(text, NOW_MS) ?? 0) % 1000).toBe(0);
      }),
      FUZZ,
    );
  });
});
