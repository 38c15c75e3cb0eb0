import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FUZZ } from '../support/fuzz.ts';
import { encode, readInParts, readPlainly } from './documents.ts';
import { disagreements } from './mutations.ts';

test('ItemReader agrees with JSON.parse and the schema on many documents with seeded mutations', () => {
  expect(disagreements(42, 120 * FUZZ.numRuns)).toEqual([]);
});

test('ItemReader agrees with JSON.parse and the schema on any document of JSON values in any chunks', () => {
  const value = fc.oneof(
    fc.record({ petId: fc.integer(), quantity: fc.integer(), status: fc.string(), more: fc.jsonValue() }),
    fc.jsonValue(),
  );
  const cuts = fc.array(fc.nat(400), { maxLength: 8 });
  const property = fc.property(fc.array(value), cuts, fc.nat(2), (values, ends, indent) => {
    const bytes = encode(JSON.stringify(values, null, indent));
    expect(
      readInParts(
        bytes,
        ends.filter((end) => end < bytes.length),
      ),
    ).toEqual(readPlainly(bytes));
  });

  fc.assert(property, FUZZ);
});
