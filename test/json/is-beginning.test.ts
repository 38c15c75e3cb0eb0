import { describe, expect, test } from 'vitest';
import { isBeginning } from '../../src/json/is-beginning.ts';
import { encode } from './documents.ts';

const ITEM = '{"petId":1,"quantity":2,"status":"sold"}';

describe('isBeginning', () => {
  test('is true for a list cut off anywhere, and false for the whole list', () => {
    const bytes = encode(` [${ITEM}, ${ITEM}]`);
    const results = Array.from({ length: bytes.length + 1 }, (_, end) => isBeginning(bytes.subarray(0, end), 'list'));
    expect(results).toEqual([...Array.from(bytes, () => true), false]);
  });

  test('is true for an item cut off anywhere, and false for the whole item', () => {
    const bytes = encode(`\n${ITEM}`);
    const results = Array.from({ length: bytes.length + 1 }, (_, end) => isBeginning(bytes.subarray(0, end), 'item'));
    expect(results).toEqual([...Array.from(bytes, () => true), false]);
  });

  test.each(['{', 'null', '<html', ']', '[]]', `[${ITEM}${ITEM}`, '[{"petId":"1"}', '[{"petId":},{'])(
    'is false for %j as a list',
    (text) => {
      expect(isBeginning(encode(text), 'list')).toBe(false);
    },
  );

  test.each(['[', '[{', 'x{', ' <html', '1', '{"petId":}', '{"petId":"1"}'])('is false for %j as an item', (text) => {
    expect(isBeginning(encode(text), 'item')).toBe(false);
  });
});
