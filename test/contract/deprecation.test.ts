import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readDeprecation } from '../../src/contract/deprecation.ts';
import { anyText, FUZZ } from '../support/fuzz.ts';

const NOW_MS = Date.parse('2026-11-21T10:00:00Z');
const ADDRESS = 'https://shop.example/v1/inventory/42';

/** What these headers say. */
function read(headers: Record<string, string>) {
  const given = new Headers(headers);
  return readDeprecation((name) => given.get(name) ?? '', { nowMs: NOW_MS, address: ADDRESS });
}

describe('readDeprecation', () => {
  test('reads the example of RFC 9745 with its link', () => {
    const link = '<https://developer.example.com/deprecation>; rel="deprecation"; type="text/html"';
    expect(read({ deprecation: '@1688169599', link })).toEqual({
      deprecatedAt: new Date('2023-06-30T23:59:59Z'),
      link: 'https://developer.example.com/deprecation',
    });
  });

  test('reads the example of RFC 8594 alone', () => {
    const link = '<http://example.net/sunset>; rel="sunset"; type="text/html"';
    expect(read({ sunset: 'Sat, 31 Dec 2018 23:59:59 GMT', link })).toEqual({
      sunsetAt: new Date('2018-12-31T23:59:59Z'),
      link: 'http://example.net/sunset',
    });
  });

  test.each([
    ['a date to come', '@1900000000', new Date(1_900_000_000_000)],
    ['parameters after the date', '@1688169599;why="too slow"', new Date(1_688_169_599_000)],
    ['the word of the drafts', 'true', undefined],
    ["the drafts' HTTP-date", 'Fri, 30 Jun 2023 23:59:59 GMT', new Date('2023-06-30T23:59:59Z')],
  ])('reads a Deprecation that is %s', (_what, deprecation, deprecatedAt) => {
    expect(read({ deprecation })).toEqual(deprecatedAt ? { deprecatedAt } : {});
  });

  test.each([
    ['nothing', {}],
    ['a link without the headers', { link: '<https://a.example/>; rel="deprecation"' }],
    ['what says no', { deprecation: 'false' }],
    ['two dates', { deprecation: '@1688169599, @1688169600' }],
    ['an integer without its mark', { deprecation: '1688169599' }],
    ['seconds beyond what a Date holds', { deprecation: '@9999999999999999' }],
    ['a Sunset in seconds', { sunset: '1688169599' }],
  ])('gives undefined for %s', (_what, headers) => {
    expect(read(headers)).toBeUndefined();
  });

  test.each([
    ['the deprecation before the sunset', '</s>; rel=sunset, </d>; rel=deprecation', 'https://shop.example/d'],
    ['one of several relations', '</d>; rel="help Deprecation"', 'https://shop.example/d'],
    [
      'a comma within the address',
      '<https://a.example/?a,b>; rel=x, <https://a.example/d,e>; title="; rel=sunset"; rel="sunset"',
      'https://a.example/d,e',
    ],
    ['no credentials', '<https://me:secret@a.example/d#part>; rel=deprecation', 'https://a.example/d#part'],
    ['no other scheme', '<javascript:alert(1)>; rel=deprecation', undefined],
    ['no address', '<http://[>; rel=deprecation', undefined],
    ['no other relation', '<https://a.example/>; rel=next', undefined],
    ['no address without a relation', '<https://a.example/>; title="deprecation"', undefined],
  ])('takes from Link %s', (_what, link, expected) => {
    expect(read({ sunset: 'Sat, 31 Dec 2033 23:59:59 GMT', link })?.link).toBe(expected);
  });

  test('never throws, whatever a link names, and gives addresses without credentials', () => {
    const ofHeaders = anyText.map((text) => text.replace(/[^\t\x20-\xff]/g, ''));
    fc.assert(
      fc.property(
        ofHeaders,
        fc.oneof(
          ofHeaders,
          fc.webUrl().map((url) => url.replace('//', '//me:secret@')),
        ),
        (deprecation, target) => {
          const found = read({ deprecation, sunset: 'Sat, 31 Dec 2033 23:59:59 GMT', link: `<${target}>; rel=sunset` });
          expect(found?.sunsetAt).toEqual(new Date('2033-12-31T23:59:59Z'));
          expect(found?.link ?? 'https://none.example').toMatch(/^https?:\/\/(?!me:secret@)/);
        },
      ),
      FUZZ,
    );
  });
});
