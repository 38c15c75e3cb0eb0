import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { updateInventory } from '../../src/operations/update-inventory.ts';
import { chunked, item, json, text } from '../support/answers.ts';
import { scriptedClient } from '../support/client.ts';
import { FUZZ } from '../support/fuzz.ts';
import { rejectionOf, thrownBy } from '../support/outcome.ts';

describe('updateInventory sends a request', () => {
  test.each([
    [42, 'inventory/42'],
    [0, 'inventory/0'],
    [-0, 'inventory/0'],
    [-7, 'inventory/-7'],
    [2 ** 53 - 1, 'inventory/9007199254740991'],
    [9_223_372_036_854_775_807n, 'inventory/9223372036854775807'],
    [-9_223_372_036_854_775_808n, 'inventory/-9223372036854775808'],
  ])('for the pet %s at %s', (petId, path) => {
    expect(updateInventory(petId, { quantity: 1 }, 'number').request).toEqual({ method: 'PATCH', path, body: '{"quantity":1}' });
  });

  test.each([
    [0, '{"quantity":0}'],
    [-0, '{"quantity":0}'],
    [-5, '{"quantity":-5}'],
    [2 ** 53 - 1, '{"quantity":9007199254740991}'],
  ])('for the quantity %s with %s: the service decides on its bounds', (quantity, body) => {
    expect(updateInventory(1, { quantity, more: 'x' }, 'number').request.body).toBe(body);
  });

  test('for every int64 with its exact digits, in a path of one segment', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (petId) => {
        const { path } = updateInventory(petId, { quantity: 1 }, 'number').request;
        expect([path.split('/').length, BigInt(path.slice('inventory/'.length))]).toEqual([2, petId]);
      }),
      FUZZ,
    );
  });
});

describe('updateInventory refuses, before anything is sent,', () => {
  const PET_RULE = 'it must be an int64 (a bigint beyond ±(2^53−1))';

  test.each([
    [2 ** 53, '9007199254740992'],
    [-(2 ** 53), '-9007199254740992'],
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    [2n ** 63n, '9223372036854775808n'],
    [null, 'null'],
    [undefined, 'undefined'],
    [[42], 'an array'],
  ])('the petId %s', (petId, shown) => {
    expect(thrownBy(() => updateInventory(petId, { quantity: 1 }, 'number'))).toMatchObject({
      kind: 'invalid-argument',
      argument: 'petId',
      operation: 'updateInventory',
      outcome: 'not-sent',
      attempts: 0,
      message: `Cannot use ${shown} as \`petId\`: ${PET_RULE}`,
    });
  });

  test.each(['42', '../admin'])('the petId %j, which is a string', (petId) => {
    expect(thrownBy(() => updateInventory(petId, { quantity: 1 }, 'number'))).toMatchObject({
      argument: 'petId',
      message: `Cannot use "${petId}" as \`petId\`: it must be a number or a bigint, not a string`,
    });
  });

  test.each([
    [{ quantity: 1.5 }, '1.5'],
    [{ quantity: 2 ** 53 }, '9007199254740992'],
    [{ quantity: 12n }, '12n'],
    [{ quantity: null }, 'null'],
    [{}, 'undefined'],
  ])('the update %o', (update, shown) => {
    expect(thrownBy(() => updateInventory(42, update, 'number'))).toMatchObject({
      kind: 'invalid-argument',
      argument: 'quantity',
      operation: 'updateInventory',
      petId: 42,
      outcome: 'not-sent',
      message: `Cannot use ${shown} as \`quantity\`: it must be an integer within ±(2^53−1)`,
    });
  });

  test.each([12, '12', null, undefined])('the update %o, which is no object', (update) => {
    expect(thrownBy(() => updateInventory(42, update, 'number'))).toMatchObject({
      kind: 'invalid-argument',
      argument: 'quantity',
      petId: 42,
      outcome: 'not-sent',
      message: `Cannot use ${JSON.stringify(update) ?? 'undefined'} as the update: it must be { quantity }`,
    });
  });

  test('a quantity that is a string, and says that it is one', () => {
    expect(thrownBy(() => updateInventory(42, { quantity: '12' }, 'number'))).toMatchObject({
      message: 'Cannot use "12" as `quantity`: it must be an integer within ±(2^53−1), not a string',
    });
  });

  test('by a promise that rejects, not by an exception', async () => {
    const { client, seen } = scriptedClient([() => item(42)]);
    expect(await rejectionOf(client.updateInventory(1.5, { quantity: 1 }))).toMatchObject({ name: 'InvalidArgumentError' });
    expect(await rejectionOf(client.updateInventory(1, { quantity: 1.5 }).withResponse())).toMatchObject({ name: 'InvalidArgumentError' });
    expect(seen).toHaveLength(0);
  });
});

describe('updateInventory reads', () => {
  test('the item, without unknown fields, and with the last value of a repeated name', async () => {
    const { client } = scriptedClient([() => text(200, '{"petId":42,"quantity":1,"quantity":12,"status":"sold","colour":"red"}')]);
    expect(await client.updateInventory(42, { quantity: 12 })).toEqual({ petId: 42, quantity: 12, status: 'sold' });
  });

  test('an item even if the service stored another quantity: it decides on its bounds', async () => {
    const { client } = scriptedClient([() => item(42, 10)]);
    expect((await client.updateInventory(42, { quantity: 12 })).quantity).toBe(10);
  });

  test('an unknown status as it is, and announces it once', async () => {
    const { client, log } = scriptedClient([() => json(200, { petId: 42, quantity: 1, status: 'reserved' })]);
    expect((await client.updateInventory(42, { quantity: 1 })).status).toBe('reserved');
    expect(log.filter((line) => line.startsWith('unknownStatus'))).toEqual(['unknownStatus reserved']);
  });

  test.each([
    ['no JSON', '{"petId":', 'invalid-json', ''],
    ['nothing', '', 'invalid-json', ''],
    ['a list', '[]', 'schema', ''],
    ['null', 'null', 'schema', ''],
    ['no petId', '{"quantity":1,"status":"sold"}', 'schema', 'petId'],
    ['no quantity', '{"petId":42,"status":"sold"}', 'schema', 'quantity'],
    ['a quantity in words', '{"petId":42,"quantity":"1","status":"sold"}', 'schema', 'quantity'],
    ['a quantity beyond the safe integers', '{"petId":42,"quantity":9007199254740992,"status":"sold"}', 'schema', 'quantity'],
    ['half a pet', '{"petId":42,"quantity":0.5,"status":"sold"}', 'schema', 'quantity'],
    ['no status', '{"petId":42,"quantity":1}', 'schema', 'status'],
    ['another pet', '{"petId":43,"quantity":1,"status":"sold"}', 'mismatch', 'petId'],
    ['another pet that a double would take for the same', '{"petId":9007199254740993,"quantity":1,"status":"sold"}', 'schema', 'petId'],
  ])('%s as an InvalidResponseError, not retried, with the change in doubt', async (_what, body, reason, path) => {
    const { client, seen } = scriptedClient([() => text(200, body)]);
    expect(await rejectionOf(client.updateInventory(42, { quantity: 1 }))).toMatchObject({
      name: 'InvalidResponseError',
      reason,
      problems: [{ path }],
      status: 200,
      operation: 'updateInventory',
      petId: 42,
      attempts: 1,
      outcome: 'unknown',
      message: expect.stringMatching(/^Cannot update pet 42: the service answered 200 with a body that /),
    });
    expect(seen).toHaveLength(1);
  });

  test('bytes that are not UTF-8, and an item beyond 1 MiB, as InvalidResponseErrors', async () => {
    const latin = new Uint8Array([0x7b, 0xe9, 0x7d]);
    const long = JSON.stringify({ petId: 42, quantity: 1, status: 'x'.repeat(1_048_576) });
    const { client } = scriptedClient([() => new Response(latin), () => text(200, long), () => new Response(chunked([long]))]);
    const update = () => rejectionOf(client.updateInventory(42, { quantity: 1 }));
    expect([await update(), await update(), await update()]).toMatchObject([
      { reason: 'invalid-utf8' },
      { reason: 'too-large' },
      { reason: 'too-large' },
    ]);
  });

  test('the exact id of a pet beyond 2^53, and names the option if a number cannot hold it', async () => {
    const petId = 9_007_199_254_740_993n;
    const { client } = scriptedClient([() => text(200, `{"petId":${petId},"quantity":1,"status":"sold"}`)]);
    expect(await rejectionOf(client.updateInventory(petId, { quantity: 1 }))).toMatchObject({
      name: 'InvalidResponseError',
      message: expect.stringContaining("int64: 'bigint'"),
    });
    const operation = updateInventory(petId, { quantity: 1 }, 'bigint');
    expect(operation.petId).toBe(petId);
  });

  test('a petId given as a bigint and answered as a number as the same pet', async () => {
    const { client } = scriptedClient([() => item(42)]);
    expect((await client.updateInventory(42n, { quantity: 1 })).petId).toBe(42);
  });
});
