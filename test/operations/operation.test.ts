import { describe, expect, test } from 'vitest';
import { decode } from '../../src/operations/operation.ts';

describe('decode', () => {
  test('gives the text of UTF-8', () => {
    expect(decode(new TextEncoder().encode('aé€😀'))).toBe('aé€😀');
  });

  test('gives undefined for bytes that are not UTF-8, and decodes correctly afterwards', () => {
    expect([decode(new Uint8Array([0xe2, 0x82])), decode(new Uint8Array([0xff])), decode(new Uint8Array([0x61]))]).toEqual([
      undefined,
      undefined,
      'a',
    ]);
  });
});
