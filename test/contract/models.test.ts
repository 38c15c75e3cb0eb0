import fc from 'fast-check';
import { ErrorBody, InventoryItem, InventoryUpdate, isPetStatus, PetId, PetStatus, PLANS } from 'petstore-inventory';
import { describe, expect, test } from 'vitest';
import { FUZZ } from '../support/fuzz.ts';

describe('PetId', () => {
  test.each([0, 42, -1, 2 ** 53 - 1, -(2 ** 53 - 1), 0n, 2n ** 63n - 1n, -(2n ** 63n)])('takes %s, an int64', (petId) => {
    expect(PetId.parse(petId)).toBe(petId);
  });

  test.each([2 ** 53, -(2 ** 53), 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2n ** 63n, -(2n ** 63n) - 1n, '42', null, undefined, true])(
    'refuses %s',
    (petId) => {
      expect(PetId.safeParse(petId).success).toBe(false);
    },
  );

  test('takes a bigint exactly if it fits into 64 bits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }), (petId) => {
        expect(PetId.safeParse(petId).success).toBe(BigInt.asIntN(64, petId) === petId);
      }),
      FUZZ,
    );
  });
});

describe('PetStatus', () => {
  test('names the states of the specification', () => {
    expect(PetStatus.options).toEqual(['available', 'pending', 'sold']);
  });

  test('isPetStatus accepts these states and no others', () => {
    expect(['available', 'pending', 'sold', 'Sold', 'reserved', '', 'toString'].map(isPetStatus)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('InventoryItem', () => {
  test('passes on a status that the specification does not name, and drops unknown fields', () => {
    expect(InventoryItem.parse({ petId: 1, quantity: 2, status: 'reserved', colour: 'red' })).toEqual({
      petId: 1,
      quantity: 2,
      status: 'reserved',
    });
  });

  test.each(['petId', 'quantity', 'status'])('requires %s', (field) => {
    const whole = { petId: 1, quantity: 2, status: 'sold' };
    expect(InventoryItem.safeParse({ ...whole, [field]: undefined }).success).toBe(false);
    expect(InventoryItem.safeParse({ ...whole, [field]: null }).success).toBe(false);
  });

  test('requires a safe integer for the quantity', () => {
    const withQuantity = (quantity: unknown) => InventoryItem.safeParse({ petId: 1, quantity, status: 'sold' }).success;
    expect([0, -3, 2 ** 53 - 1, 2 ** 53, 1.5, '1'].map(withQuantity)).toEqual([true, true, true, false, false, false]);
  });
});

test('InventoryUpdate requires a safe integer as quantity', () => {
  expect([{ quantity: 12 }, { quantity: 1.5 }, {}, { quantity: '12' }].map((body) => InventoryUpdate.safeParse(body).success)).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test('ErrorBody requires code, message and status', () => {
  const body = { code: 'pet_missing', message: 'No such pet', status: 404 };
  expect(ErrorBody.parse({ ...body, trace: 'x' })).toEqual(body);
  expect(ErrorBody.safeParse({ ...body, status: '404' }).success).toBe(false);
  expect(ErrorBody.safeParse({ ...body, code: undefined }).success).toBe(false);
});

test('PLANS holds the limits of the specification', () => {
  expect(PLANS).toEqual({
    free: { requestsPerMinute: 60, requestsPerDay: 1_000 },
    pro: { requestsPerMinute: 300, requestsPerDay: 10_000 },
    business: { requestsPerMinute: 1_000, requestsPerDay: 100_000 },
  });
});
