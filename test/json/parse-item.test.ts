import { expect, test } from 'vitest';
import type { Int64 } from '../../src/contract/models.ts';
import { type ItemResult, parseItem } from '../../src/json/parse-item.ts';
import { problemsIn } from './documents.ts';

const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

const reasonOf = (result: ItemResult<Int64>) => ('failure' in result ? result.failure.reason : undefined);
const problemsOf = (result: ItemResult<Int64>) => problemsIn('failure' in result ? result.failure : undefined);

test('parseItem reads the fields of the contract and drops others', () => {
  const text = ' {"petId":1.0,"quantity":-0,"status":"new","__proto__":{"x":1},"more":[]} ';

  expect(parseItem(text, 'number')).toEqual({ item: { petId: 1, quantity: 0, status: 'new' } });
});

test.each([
  ['9007199254740993', 9007199254740993n],
  ['-9223372036854775808', -9223372036854775808n],
  ['7', 7n],
  ['1e18', 1_000_000_000_000_000_000n],
  ['9007199254740993.0', 9007199254740993n],
  ['0.009007199254740993e18', 9007199254740993n],
])('parseItem reads the id %s exactly as a bigint', (written, petId) => {
  const text = `{"note":"9007199254740995 \\"","petId":${written},"quantity":1,"status":"x"}`;

  expect(parseItem(text, 'bigint')).toEqual({ item: { petId, quantity: 1, status: 'x' } });
});

test.each([
  ['number', '9007199254740993', "is 9007199254740993, beyond ±(2^53−1); int64: 'bigint' reads it exactly"],
  ['bigint', '9223372036854775808', 'must be an integer within int64'],
  ['bigint', '1e999999999', 'must be an integer within int64'],
  ['bigint', '9007199254740993.5', 'must be an integer within int64'],
  ['bigint', '1.5', 'must be an integer within int64'],
  ['bigint', '4503599627370497.5', 'must be an integer within int64'],
  ['number', '9007199254740991.4', 'must be an integer within int64'],
  ['number', '1e-400', 'must be an integer within int64'],
  ['bigint', '"9007199254740993"', 'must be an integer, not a string'],
  ['number', 'null', 'must be an integer, not null'],
  ['number', '{}', 'must be an integer, not an object'],
] as const)('parseItem as %s says what is wrong with the id %s', (int64, written, message) => {
  const result = parseItem(`{"petId":${written},"quantity":1,"status":"x"}`, int64);

  expect([reasonOf(result), problemsOf(result)]).toEqual(['schema', [{ path: 'petId', message }]]);
});

test.each(['0.99999999999999999999', '4503599627370497.5', '1e-400', '1.5', '9007199254740993.0'])(
  'parseItem refuses the quantity %s, which is no safe integer',
  (written) => {
    const result = parseItem(`{"petId":1,"quantity":${written},"status":"x"}`, 'number');

    expect(problemsOf(result)).toEqual([{ path: 'quantity', message: 'must be an integer within ±(2^53−1)' }]);
  },
);

test.each([
  ['"status":7', 'must be a string, not a number'],
  ['"status":null', 'must be a string, not null'],
  ['"more":7', 'is missing'],
])('parseItem says of an item with %s what is wrong with its status', (written, message) => {
  expect(problemsOf(parseItem(`{"petId":1,"quantity":1,${written}}`, 'number'))).toEqual([{ path: 'status', message }]);
});

test.each([
  ['', 'invalid-json'],
  ['{"secret":', 'invalid-json'],
  ['{} {}', 'invalid-json'],
  ['[]', 'schema'],
  [deep, 'schema'],
])('parseItem refuses %.20j as %s', (text, reason) => {
  const result = parseItem(text, 'number');

  expect(reasonOf(result)).toBe(reason);
  expect(problemsOf(result)).toMatchObject([{ path: '' }]);
  expect(JSON.stringify(problemsOf(result))).not.toContain('secret');
});

test('parseItem lets an unknown field be nested 100,000 deep', () => {
  expect(parseItem(`{"x":${deep},"petId":1,"quantity":1,"status":"x"}`, 'number')).toHaveProperty('item');
});

test.each(['', ' \n'])('parseItem says of %j that it is empty', (text) => {
  expect(parseItem(text, 'number')).toEqual({ failure: { reason: 'invalid-json', problems: [{ path: '', message: 'is empty' }] } });
});
