import { describe, expect, test } from 'vitest';
import { PADDING_BYTES } from '../../src/json/pending-bytes.ts';
import { Phrase } from '../../src/json/phrase.ts';
import { PlainItems } from '../../src/json/plain-items.ts';
import { encode } from './documents.ts';

/** The items that PlainItems reads from a text by itself, and where it stops. */
function readPlain(text: string): { items: unknown[]; rest: string } {
  const reader = new PlainItems('bigint');
  const items: { petId: bigint; quantity: number; status: string }[] = [];
  reader.look(new Uint8Array([...encode(text), ...new Uint8Array(PADDING_BYTES)]));
  reader.read(items, { start: 0, lastClose: text.lastIndexOf('}') });
  return { items: items.map(({ petId, quantity, status }) => [petId, quantity, status]), rest: text.slice(reader.end) };
}

describe('PlainItems', () => {
  test('reads everything that JSON.stringify writes', () => {
    const items = [
      [1234567890, 0, 'available'],
      [-9007199254740993n, -98765, 'pending'],
      [9223372036854775807n, 900719925474099, 'sold'],
      [0, 7, 'on ~ hold!'],
      [5, 5, 'x'.repeat(64)],
    ];
    const text = items.map(([petId, quantity, status]) => `{"petId":${petId},"quantity":${quantity},"status":"${status}"}`).join();
    const expected = items.map(([petId = 0, ...others]) => [BigInt(petId), ...others]);
    expect(readPlain(text)).toEqual({ items: expected, rest: '' });
  });

  test('reads the integers around ±2^53 exactly, and leaves quantities beyond it to the other readers', () => {
    const sizes = Array.from({ length: 600 }, (_, n) => 2n ** 53n - 300n + BigInt(n));
    const integers = sizes.flatMap((size) => [size, -size]);
    const read = (petId: bigint, quantity: bigint) => readPlain(`{"petId":${petId},"quantity":${quantity},"status":"sold"}`).items[0];
    expect(integers.map((id) => read(id, 1n))).toEqual(integers.map((id) => [id, 1, 'sold']));
    const isSafe = (integer: bigint) => Number.isSafeInteger(Number(integer));
    expect(integers.map((quantity) => read(1n, quantity))).toEqual(
      integers.map((quantity) => (isSafe(quantity) ? [1n, Number(quantity), 'sold'] : undefined)),
    );
  });

  test.each([
    '{ "petId":1,"quantity":2,"status":"sold"}',
    '{"petId":01,"quantity":2,"status":"sold"}',
    '{"petId":-,"quantity":2,"status":"sold"}',
    '{"petId":10000000000000000000,"quantity":2,"status":"sold"}',
    '{"petId":1,"quantity":9007199254740992,"status":"sold"}',
    '{"petId":1,"quantity":2.5,"status":"sold"}',
    '{"petId":1,"quantity":2,"status":"so\\u006cd"}',
    '{"petId":1,"quantity":2,"status":"größe"}',
    `{"petId":1,"quantity":2,"status":"${'x'.repeat(65)}"}`,
    '{"petId":1,"quantity":2,"status":"sold","more":1}',
  ])('leaves %s, and what follows it, to the other readers', (odd) => {
    const plain = '{"petId":1,"quantity":2,"status":"sold"}';
    expect(readPlain(`${plain},${odd},${plain}`)).toEqual({ items: [[1n, 2, 'sold']], rest: `,${odd},${plain}` });
  });
});

describe('Phrase', () => {
  const text = '"quantity":"';
  const view = new DataView(encode(`--${text}${text.slice(0, -1)}!--------`).buffer);

  test.each([
    [2, true],
    [1, false],
    [3, false],
    [2 + text.length, false],
  ])('at %i of the bytes: %s', (at, isThere) => {
    expect(new Phrase(text).isAt(view, at)).toBe(isThere);
  });
});
