import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pathBelow } from '../../src/operations/path-below.ts';
import { FUZZ } from '../support/fuzz.ts';

const BASE = 'https://shop.test:8443/api/v1';

describe('pathBelow', () => {
  test.each([
    ['/pets/42', 'pets/42'],
    ['pets/42?a=../b#c', 'pets/42?a=../b'],
    ['/', ''],
    ['', ''],
    [' /pets\n/42 ', 'pets/42'],
    ['/pets/../orders', 'orders'],
    ['/files/a%2fb', 'files/a%2fb'],
    ['/orders:cancel', 'orders:cancel'],
    [`${BASE}/pets/42`, 'pets/42'],
    ['HTTPS://SHOP.TEST:8443/api/v1/pets', 'pets'],
    ['/http://elsewhere.test/', 'http://elsewhere.test/'],
    ['/@elsewhere.test/', '@elsewhere.test/'],
  ])('gives the path below the address: %j', (wanted, path) => {
    expect(pathBelow(wanted, BASE)).toBe(path);
  });

  test('decodes a character however often its `%` was encoded', () => {
    const deep = '25'.repeat(50_000);
    expect(pathBelow(`/a%${deep}41`, BASE)).toBe(`a%${deep}41`);
    expect(pathBelow(`/%${deep}2e.%5C..`, BASE)).toBeUndefined();
    expect(pathBelow(`/..%${'%3'.repeat(50_000)}5c..`, BASE)).toBeUndefined();
  });

  test.each([
    '//elsewhere.test/api/v1/pets',
    '\\\\elsewhere.test/pets',
    '/\\elsewhere.test/pets',
    '/\t/elsewhere.test/pets',
    'https://shop.test/api/v1/pets',
    'https://shop.test:8444/api/v1/pets',
    'http://shop.test:8443/api/v1/pets',
    'https://shop.test:8443/api/v1',
    'https://shop.test:8443/api/v10/pets',
    'https://shop.test:8443/api/v1/../admin',
    'https://shop.test:8443/api/v1%2f..%2fadmin',
    'https://user:secret@shop.test:8443/api/v1/pets',
    'https://shop.test:8443@elsewhere.test/api/v1/pets',
    'https:elsewhere.test/api/v1/pets',
    '/a/..%252f..%25252F..',
    'blob:https://shop.test:8443/api/v1/pets',
    'data:,pets',
    'javascript:1',
    '..',
    '/..',
    '/../v1/pets',
    '/pets/../../v1/pets',
    '/..%2fadmin',
    '/%2e%2e/admin',
    '/.%2E%5cadmin',
    '/..%5cadmin',
    '/..\\admin',
    '/%252e%252e%252fadmin',
    '/..;/admin',
    '/..;a=1/admin',
    '/..%3ba/admin',
    '/..%253b/admin',
    '/.\n./admin',
    '/pets/..%2f..%2fadmin',
    '/pets//..//..//admin',
    '/%25%32%65%25%32%65/%25%32%65%25%32%65/admin',
    '/%2%65%2%65/%2%65%2%65/admin',
    '/..%2%66..%2%66admin',
    '/a%252fb/..%5c../admin',
    '/;%252fa/..%5cadmin',
  ])('gives nothing for another address or a path that climbs out: %j', (wanted) => {
    expect(pathBelow(wanted, BASE)).toBeUndefined();
  });

  /** Every text that a server may see in a path: decoded once, twice and so on. */
  function readings(path: string): string[] {
    const decoded = path.replace(/%([0-7][\da-f])/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
    return decoded === path ? [path] : [path, ...readings(decoded)];
  }

  /** What a server resolves that takes `\` for `/`, and leaves parameters out. */
  function resolved(path: string): string {
    const left: string[] = [];
    for (const segment of path
      .replaceAll('\\', '/')
      .split('/')
      .map((each) => each.replace(/;.*/s, ''))) {
      if (segment === '..') left.pop();
      else if (segment !== '.') left.push(segment);
    }
    return left.join('/');
  }

  const pieces = [
    '..',
    '.',
    '/',
    '\\',
    '%2f',
    '%2E',
    '%5c',
    '%25',
    '%252e',
    '%252f',
    '%2%65',
    '%32',
    '2e',
    ';',
    '%3b',
    'a',
    ':',
    '@',
    '?',
    '#',
    '\t',
    ' ',
    '//',
    BASE,
  ];
  const wanted = fc
    .array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 2 })), { maxLength: 9 })
    .map((parts) => parts.join(''));

  test('gives nothing that could leave the address, however it is decoded', () => {
    fc.assert(
      fc.property(wanted, (text) => {
        const path = pathBelow(text, BASE);
        fc.pre(path !== undefined);
        const url = new URL(`${BASE}/${path}`);
        expect([url.origin, url.username, url.password, url.hash]).toEqual(['https://shop.test:8443', '', '', '']);
        for (const reading of readings(url.pathname)) expect(`${resolved(reading)}/`).toMatch(/^\/api\/v1\//);
      }),
      FUZZ,
    );
  });
});
