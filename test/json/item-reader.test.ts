import { describe, expect, test } from 'vitest';
import { ItemReader } from '../../src/json/item-reader.ts';
import { ownWorkMs } from '../support/own-work.ts';
import { badDocuments, documents, encode, problemsIn, readInParts, readPlainly } from './documents.ts';
import { disagreements } from './mutations.ts';

const item = (petId: number | bigint, status = 'sold') => `{"petId":${petId},"quantity":2,"status":"${status}"}`;
const firstProblem = (reader: ItemReader<'number'>, bytes: Uint8Array) => problemsIn(reader.push(bytes).failure)[0];

describe('ItemReader agrees with JSON.parse and the schema', () => {
  test.each(documents)('on %j, cut in two anywhere', (text) => {
    const bytes = encode(text);
    const expected = readPlainly(bytes);
    const results = Array.from(bytes, (_, cut) => readInParts(bytes, [cut]));

    expect(expected).toBeDefined();
    expect(results).toEqual(results.map(() => expected));
  });

  test.each(badDocuments)('that %j is refused, cut in two anywhere', (text) => {
    const bytes = encode(text);
    const results = Array.from({ length: bytes.length + 1 }, (_, cut) => readInParts(bytes, [cut]));

    expect(readPlainly(bytes)).toBeUndefined();
    expect(results).toEqual(results.map(() => undefined));
  });

  test.each(documents)('that %j cut off at any byte is refused', (text) => {
    const bytes = encode(text.trimEnd());
    const results = Array.from(bytes, (_, end) => readInParts(bytes.subarray(0, end), []));

    expect(results.filter((result) => result !== undefined)).toEqual([]);
  });

  test.each(documents)('byte by byte on %j', (text) => {
    const bytes = encode(text);

    expect(readInParts(bytes, [...bytes.keys()])).toEqual(readPlainly(bytes));
  });

  test('on documents with seeded mutations', () => {
    expect(disagreements(42, 3_000)).toEqual([]);
  });
});

describe('ItemReader', () => {
  test('reads integers of every length and sign exactly', () => {
    const ids = Array.from({ length: 22 }, (_, zeros) => 10n ** BigInt(zeros)).flatMap((id) => [id, -id, id - 1n, 1n - id]);
    const limits = [2n ** 63n, 2n ** 63n - 1n, -(2n ** 63n), -(2n ** 63n) - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n];
    const unsafe = Array.from({ length: 128 }, (_, n) => 2n ** 53n - 64n + BigInt(n)).flatMap((id) => [id, -id]);
    const all = [...ids, ...limits, ...unsafe];
    const results = all.map((id) => readInParts(encode(`[${item(id)}]`), [], 'bigint'));

    const expected = all.map((id) => (BigInt.asIntN(64, id) === id ? [{ petId: id, quantity: 2, status: 'sold' }] : undefined));
    expect(results).toEqual(expected);
  });

  test('gives an item as soon as its last byte has come', () => {
    const reader = new ItemReader('number');

    expect(reader.push(encode(`[${item(1)}`)).items).toHaveLength(1);
    expect(reader.push(encode(`,{"x":1,${item(2).slice(1)}`)).items).toHaveLength(1);
  });

  test('isPlain is true until an item is not of the plain form, wherever chunks end', () => {
    const text = encode(`[${item(1)},${item(2)},{"x":0,${item(3).slice(1)}`);
    const odd = text.indexOf(0x78) - 2;
    const plain = Array.from({ length: odd }, (_, length) => {
      const reader = new ItemReader('number');
      const starts = Array.from({ length: Math.ceil(odd / (length + 1)) }, (_, part) => part * (length + 1));
      const items = starts.flatMap((start) => reader.push(text.subarray(start, Math.min(odd, start + length + 1))).items);
      const wasPlain = reader.isPlain;
      reader.push(text.subarray(odd));
      return [items.length, wasPlain, reader.isPlain];
    });

    expect(plain).toEqual(plain.map(() => [2, true, false]));
  });

  test('gives the items before the first bad one, whatever the chunks', () => {
    const text = encode(`[${item(1)},{"x":0,${item(2).slice(1)},${item(3, 'é')},{"petId":4,,}]`);
    const counts = Array.from(text, (_, cut) => {
      const reader = new ItemReader('number');
      return reader.push(text.subarray(0, cut)).items.length + reader.push(text.subarray(cut)).items.length;
    });

    expect(new Set(counts)).toEqual(new Set([3]));
  });

  test('names the row of a bad item late in a long list', () => {
    const reader = new ItemReader('number');
    const thousand = encode(`${item(1)},`.repeat(1_000));
    reader.push(encode('['));
    Array.from({ length: 400 }, () => reader.push(thousand));

    expect(firstProblem(reader, encode('{"petId":1,"status":"sold"}'))).toEqual({ path: '[400000].quantity', message: 'is missing' });
  });

  test('names the first ten problems of what has come, with good items between them', () => {
    const bad = '{"petId":1,"quantity":"2","status":"sold"}';
    const { items, failure } = new ItemReader('number').push(encode(`[${item(1)},${`${bad},${item(2)},`.repeat(20)}`));

    expect(items).toEqual([{ petId: 1, quantity: 2, status: 'sold' }]);
    expect(problemsIn(failure).map(({ path }) => path)).toEqual(Array.from({ length: 10 }, (_, index) => `[${1 + 2 * index}].quantity`));
  });

  test.each([
    ['', 'is empty'],
    ['\uFEFF \n', 'is empty'],
    ['[', 'ends within the list, items so far: 0'],
    [`[${item(1)},${item(2)}`, 'ends within the list, items so far: 2'],
  ])('says of %j that it %s', (text, message) => {
    const reader = new ItemReader('number');
    reader.push(encode(text));

    expect(reader.end()).toEqual({ items: [], failure: { reason: 'invalid-json', problems: [{ path: '', message }] } });
  });

  test.each([
    ...['{"items":[]}', '"[]"', '-1', '7', 'true', 'false', 'null'].map((text) => [text, 'schema', 'must be a list'] as const),
    ...['<html>', ']', '+1', 'undefined', 'nope', 'not found', 'try again', 'fault', 't', 'nul'].map(
      (text) => [text, 'invalid-json', 'is not valid JSON'] as const,
    ),
  ])('says of %j, whole or byte by byte: %s, %s', (text, reason, message) => {
    const [whole, inBytes] = [new ItemReader('number'), new ItemReader('number')];
    whole.push(encode(text));
    for (const byte of encode(text)) inBytes.push(Uint8Array.of(byte));
    const failure = { reason, problems: [{ path: '', message }] };
    expect([whole.end().failure, inBytes.end().failure]).toEqual([failure, failure]);
  });

  test('refuses a broken item as soon as its end has come, even before a longer one that is cut off', () => {
    const odd = '{"x":0,"petId":1,"quantity":2,"status":"sold"}';
    const { items, failure } = new ItemReader('number').push(encode(`[${`${odd},`.repeat(4)}{"petId":},{"petId":1,"more":[[1,2,3`));

    expect(items).toHaveLength(4);
    expect(failure).toEqual({ reason: 'invalid-json', problems: [{ path: '[4]', message: 'is not valid JSON' }] });
  });

  test('names the item that no comma follows by its number, counted from 1', () => {
    const { items, failure } = new ItemReader('number').push(encode(`[${item(1)},${item(2)} ${item(3)}]`));

    expect(items).toHaveLength(2);
    expect(failure).toEqual({ reason: 'invalid-json', problems: [{ path: '', message: 'has no comma after item 2' }] });
  });

  test('refuses a number instead of an item as soon as its end has come', () => {
    expect(firstProblem(new ItemReader('number'), encode('[1,'))).toEqual({ path: '[0]', message: 'must be an object, not a number' });
  });

  test('names a bad row even if what follows it is not JSON', () => {
    const bad = '{"petId":1,"quantity":"2","status":"sold"}';
    const { failure } = new ItemReader('number').push(encode(`[${bad},${bad},{"petId":}`));

    expect(failure?.reason).toBe('schema');
    expect(problemsIn(failure)[0]).toMatchObject({ path: '[0].quantity' });
  });

  test('appends to the array of items that it is given', () => {
    const reader = new ItemReader('number');
    const items = [{ petId: 1, quantity: 1, status: 'sold' }];

    expect(reader.push(encode(`[${item(2)},{"status":"sold","petId":3,"quantity":2}`), items).items).toBe(items);
    expect(items.map(({ petId }) => petId)).toEqual([1, 2, 3]);
  });

  test('names an id that a number cannot hold, and the option with which it can be read', () => {
    const message = firstProblem(new ItemReader('number'), encode(`[${item(9007199254740993n)}`))?.message;

    expect(message).toBe("is 9007199254740993, beyond ±(2^53−1); int64: 'bigint' reads it exactly");
  });

  test('refuses a string of digits as an id under both options', () => {
    const bytes = encode('[{"petId":"9007199254740993","quantity":1,"status":"x"},{"petId":9007199254740993,"quantity":1,"status":"x"}]');

    expect([readInParts(bytes, []), readInParts(bytes, [], 'bigint')]).toEqual([undefined, undefined]);
  });

  test('stops within an item that is longer than 1 MiB', () => {
    const reader = new ItemReader('number');
    reader.push(encode('[{"status":"'));
    const failures = Array.from({ length: 20 }, () => reader.push(new Uint8Array(65_536).fill(0x61)).failure?.reason);

    expect(failures.slice(14)).toEqual([undefined, 'too-large', 'too-large', 'too-large', 'too-large', 'too-large']);
  });

  test('accepts an item of 1 MiB and refuses one byte more', () => {
    const frame = item(1, '').length;
    const ofLength = (length: number) => encode(`[${item(1, 'x'.repeat(length - frame))}]`);

    expect(readInParts(ofLength(1_048_576), [])).toHaveLength(1);
    expect(readInParts(ofLength(1_048_577), [])).toBeUndefined();
  });

  test('skips megabytes of white space between items', () => {
    const space = ' '.repeat(3_000_000);

    expect(
      readInParts(encode(`${space}[${space}${item(1)}${space},${space}{"x":1,${item(2).slice(1)}${space}]${space}`), [5_000_000]),
    ).toHaveLength(2);
  });

  test('refuses bytes that are not UTF-8, even outside the items', () => {
    const broken = (text: string) => encode(text).map((byte) => (byte === 0x21 ? 0xff : byte));

    expect(new ItemReader('number').push(broken(`[${item(1, '!')}]`)).failure?.reason).toBe('invalid-utf8');
    expect(readInParts(broken(`[!${item(1)}]`), [])).toBeUndefined();
  });

  test('survives a value that is nested 100,000 deep', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

    expect(readInParts(encode(`[{"x":${deep},${item(1).slice(1)}]`), [])).toHaveLength(1);
    expect(readInParts(encode(deep), [])).toBeUndefined();
  });

  test('looks at each byte of an item once, since otherwise long items would take minutes', () => {
    const bytes = encode(`[{"x":"${'},{'.repeat(100_000)}",${item(1).slice(1)}]`);
    const beganMs = ownWorkMs();

    expect(readInParts(bytes, [...bytes.keys()])).toHaveLength(1);
    expect(ownWorkMs() - beganMs).toBeLessThan(10_000);
  });
});
