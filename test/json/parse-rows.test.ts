import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as z from 'zod/mini';
import { readItem } from '../../src/json/item.ts';
import { parseRows } from '../../src/json/parse-rows.ts';
import { badDocuments, documents, encode, problemsIn, readPlainly, readSchema } from './documents.ts';

const numRuns = Number(process.env.FUZZ_RUNS ?? 500);
const item = '{"petId":1,"quantity":1,"status":"x"}';

// The text as a decoder gives it, without a byte order mark.
const decoded = (text: string) => new TextDecoder().decode(encode(text));

test.each(documents)('parseRows agrees with JSON.parse and the schema on %j', (text) => {
  expect(parseRows(decoded(text), 'number')).toEqual({ items: readPlainly(encode(text)) });
  expect(parseRows(decoded(text), 'bigint')).toEqual({ items: readPlainly(encode(text), 'bigint') });
});

test.each(badDocuments)('parseRows refuses %j', (text) => {
  expect(parseRows(decoded(text), 'number').failure).toBeDefined();
});

test('parseRows reports the first ten problems with their rows', () => {
  const { items, failure } = parseRows(`[${item},${Array(50).fill('{"petId":1,"quantity":"1","status":"x"}').join()}]`, 'number');

  const problems = Array.from({ length: 10 }, (_, row) => ({ path: `[${row + 1}].quantity`, message: 'must be an integer, not a string' }));
  expect(failure?.reason).toBe('schema');
  expect(problemsIn(failure)).toEqual(problems);
  expect(items).toHaveLength(1);
});

test('parseRows reads long ids beside others exactly', () => {
  const result = parseRows(`[${item},{"petId":9007199254740993,"quantity":1,"status":"9007199254740992"}]`, 'bigint');

  expect(result).toEqual({
    items: [
      { petId: 1n, quantity: 1, status: 'x' },
      { petId: 9007199254740993n, quantity: 1, status: '9007199254740992' },
    ],
  });
});

test('parseRows reads every long id of a list exactly', () => {
  const petIds = [9007199254740993n, -9007199254740995n, 9223372036854775807n, 9007199254740993n];
  const { items } = parseRows(`[${petIds.map((petId) => `{"petId":${petId},"quantity":1,"status":"x"}`)}]`, 'bigint');

  expect(items.map(({ petId }) => petId)).toEqual(petIds);
});

test.each(['number', 'bigint'] as const)('the fast check with ids as %s agrees with zod on any value', (int64) => {
  const id = fc.oneof(fc.integer(), fc.double(), fc.bigInt(), fc.constantFrom(-0, 2 ** 53, 2n ** 63n, -(2n ** 63n), '1'));
  const field = fc.option(fc.oneof(id, fc.string()), { nil: undefined });
  const value = fc.oneof(fc.record({ petId: field, quantity: field, status: field }, { requiredKeys: [] }), fc.anything());
  const property = fc.property(value, (input) => {
    expect(readItem(input, int64)).toEqual(z.safeParse(readSchema[int64], input).data);
  });

  fc.assert(property, { numRuns });
});
