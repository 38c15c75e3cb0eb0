import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pathBelow } from '../../src/operations/path-below.ts';

const BASE = 'https://shop.example/v1';

describe('pathBelow', () => {
  test.each([
    ['/pets/42', 'pets/42'],
    ['pets/42', 'pets/42'],
    ['/pets?tag=a&tag=b#top', 'pets?tag=a&tag=b'],
    ['?page=2', '?page=2'],
    ['https://shop.example/v1/pets/42?full=1', 'pets/42?full=1'],
    ['HTTPS://SHOP.example:443/v1/pets', 'pets'],
    ['https://shop.example/v1/a/../pets', 'pets'],
    ['/pets/42:archive', 'pets/42:archive'],
    ['/files/a%2Fb', 'files/a%2Fb'],
    ['/pets/Größe 1', 'pets/Gr%C3%B6%C3%9Fe%201'],
    ['/pets/a..b/...', 'pets/a..b/...'],
  ])('gives of %s what is below the address', (wanted, path) => {
    expect(pathBelow(wanted, BASE)).toBe(path);
  });

  test.each([
    'https://elsewhere.example/v1/pets',
    'https://shop.example.elsewhere.example/v1/pets',
    'https://shop.example@elsewhere.example/v1/pets',
    'https://user:secret@shop.example/v1/pets',
    'http://shop.example/v1/pets',
    'https://shop.example:8443/v1/pets',
    '//elsewhere.example/v1/pets',
    '/\\elsewhere.example/pets',
    '\\\\elsewhere.example/pets',
    ' //elsewhere.example/pets',
    '/\t/elsewhere.example/pets',
    'ht\ntps://elsewhere.example/v1/pets',
    'data:text/plain,pets',
    'javascript:1',
    'https://shop.example/v1',
    'https://shop.example/v10/pets',
    'https://shop.example/V1/pets',
    'https://shop.example/pets',
    'https://',
  ])('refuses %s, which is another address', (wanted) => {
    expect(pathBelow(wanted, BASE)).toBeUndefined();
  });

  test.each([
    '../admin',
    '/../admin',
    'pets/../../admin',
    'pets/../../v1/pets',
    '/%2e%2e/admin',
    '/pets/%2E%2e/..%2fadmin',
    '/..%2fadmin',
    '/..%2Fadmin',
    '/..%5cadmin',
    '/..\\admin',
    '/pets/..\\..\\admin',
    '/%252e%252e%252fadmin',
    '/%25252e%25252e/admin',
    '/..;/admin',
    '/pets/..;a=1/..;/admin',
    '/.\t./admin',
    'https://shop.example/v1/../admin',
    'https://shop.example/v1/%2e%2e/admin',
    'https://shop.example/v1/..%2fadmin',
  ])('refuses %s, which climbs out of the address', (wanted) => {
    expect(pathBelow(wanted, BASE)).toBeUndefined();
  });

  test('gives nothing that leads out of the address, however it is written', () => {
    const piece = fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      '%2e',
      '%2F',
      '%5c',
      '%25',
      ';',
      '?',
      '#',
      '\t',
      ' ',
      ':',
      '@',
      'pets',
      'https:',
      'x.example',
    );
    const isBelow = (wanted: string) => {
      const path = pathBelow(wanted, BASE);
      return path === undefined || new URL(`${BASE}/${path}`).href.startsWith(`${BASE}/`);
    };
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => isBelow(pieces.join(''))),
      { numRuns: 2_000 },
    );
  });
});
