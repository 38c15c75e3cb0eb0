import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as z from 'zod/mini';
import { itemSchema, plainItemSchema } from '../../src/json/item.ts';
import { parseItems } from '../../src/json/parse-items.ts';
import { badDocuments, documents, encode, readPlainly } from './documents.ts';

const numRuns = Number(process.env.FUZZ_RUNS ?? 500);
const item = '{"petId":1,"quantity":1,"status":"x"}';

// As a decoder gives it, which takes one byte order mark away.
const decoded = (text: string) => new TextDecoder().decode(encode(text));

test.each(documents)('parseItems agrees with JSON.parse and the schema on %j', (text) => {
  expect(parseItems(decoded(text), 'number')).toEqual({ ok: true, items: readPlainly(encode(text)) });
  expect(parseItems(decoded(text), 'bigint')).toEqual({ ok: true, items: readPlainly(encode(text), 'bigint') });
});

test.each(badDocuments)('parseItems refuses %j', (text) => {
  expect(parseItems(decoded(text), 'number').ok).toBe(false);
});

test('parseItems reports the first ten problems with their rows', () => {
  const result = parseItems(`[${item},${Array(50).fill('{"petId":1,"quantity":"1","status":"x"}').join()}]`, 'number');

  const problems = Array.from({ length: 10 }, (_, row) => ({ path: `[${row + 1}].quantity`, message: 'must be an integer, not a string' }));
  expect(result).toEqual({ ok: false, reason: 'schema', problems });
});

test('parseItems reads long ids beside others exactly', () => {
  const result = parseItems(`[${item},{"petId":9007199254740993,"quantity":1,"status":"9007199254740992"}]`, 'bigint');

  expect(result).toMatchObject({ ok: true, items: [{ petId: 1n }, { petId: 9007199254740993n, status: '9007199254740992' }] });
});

test.each(['number', 'bigint'] as const)('the fast way of itemSchema.%s agrees with plain zod on any value', (int64) => {
  const id = fc.oneof(fc.integer(), fc.double(), fc.bigInt(), fc.constantFrom(-0, 2 ** 53, 2n ** 63n, -(2n ** 63n), '1'));
  const field = fc.option(fc.oneof(id, fc.string()), { nil: undefined });
  const value = fc.oneof(fc.record({ petId: field, quantity: field, status: field }, { requiredKeys: [] }), fc.anything());
  const outcome = (schema: z.ZodMiniType, input: unknown) => {
    const { success, data, error } = z.safeParse(schema, input);
    return { success, data, issues: error?.issues };
  };
  const property = fc.property(value, (input) => {
    expect(outcome(itemSchema[int64], input)).toEqual(outcome(plainItemSchema[int64], input));
  });

  fc.assert(property, { numRuns });
});
