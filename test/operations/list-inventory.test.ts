import { PetStoreClient } from 'petstore-inventory';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { chunked, json, text } from '../support/answers.ts';
import { freshAddress, KEY, scriptedClient } from '../support/client.ts';
import { rejectionOf } from '../support/outcome.ts';
import { scriptedFetch } from '../support/scripted-fetch.ts';

/** Reads so many lists that later ones are no longer parsed as one text. */
async function warmUp(): Promise<void> {
  const { client } = scriptedClient([() => text(200, longList(20_000))]);
  for (let read = 0; read < 6; read++) await client.listInventory();
}

const pet = (petId: unknown, status = 'sold') => ({ petId, quantity: 1, status });

/** A list of so many pets, about 45 bytes each. */
function longList(count: number): string {
  return JSON.stringify(Array.from({ length: count }, (_none, index) => pet(index + 1)));
}

describe('listInventory', () => {
  test('requests the inventory, and nothing else', async () => {
    const { client, seen } = scriptedClient([() => json(200, [])]);
    expect(await client.listInventory()).toEqual([]);
    expect(seen).toMatchObject([{ method: 'GET', url: expect.stringMatching(/\/v1\/inventory$/), body: undefined }]);
  });

  test('gives every item as the service sent it, without unknown fields', async () => {
    const { client } = scriptedClient([() => json(200, [{ ...pet(1), colour: 'red' }, pet(-2, 'available')])]);
    expect(await client.listInventory()).toEqual([pet(1), pet(-2, 'available')]);
  });

  test('gives ids as numbers, or as exact bigints if the option says so', async () => {
    const { fetch } = scriptedFetch(() =>
      text(200, '[{"petId":9223372036854775807,"quantity":1,"status":"sold"},{"petId":1,"quantity":1,"status":"sold"}]'),
    );
    const baseUrl = freshAddress();
    const exact = new PetStoreClient({ apiKey: KEY, baseUrl, fetch, int64: 'bigint' });
    const rounding = new PetStoreClient({ apiKey: KEY, baseUrl, fetch });
    expect((await exact.listInventory()).map(({ petId }) => petId)).toEqual([9_223_372_036_854_775_807n, 1n]);
    expect(await rejectionOf(rounding.listInventory())).toMatchObject({
      name: 'InvalidResponseError',
      reason: 'schema',
      problems: [{ path: '[0].petId', message: expect.stringContaining("int64: 'bigint'") }],
    });
  });

  test('announces every unknown status once for each call', async () => {
    const items = [pet(1, 'reserved'), pet(2, 'reserved'), pet(3, 'lost'), pet(4)];
    const { client, log } = scriptedClient([() => json(200, items)]);
    expect(await client.listInventory()).toEqual(items);
    await client.listInventory();
    const announced = ['unknownStatus reserved', 'unknownStatus lost'];
    expect(log.filter((line) => line.startsWith('unknownStatus'))).toEqual([...announced, ...announced]);
  });

  test('announces the first 32 unknown statuses of a call', async () => {
    const { client, log } = scriptedClient([
      () =>
        json(
          200,
          Array.from({ length: 40 }, (_none, index) => pet(index, `odd-${index}`)),
        ),
    ]);
    await client.listInventory();
    const announced = log.filter((line) => line.startsWith('unknownStatus'));
    expect(announced).toEqual(Array.from({ length: 32 }, (_none, index) => `unknownStatus odd-${index}`));
  });

  test('cleans an unknown status for a log: one line, no key, a limited length', async () => {
    const { client, log } = scriptedClient([() => json(200, [pet(1, `a\nb ${KEY}`), pet(2, 'x'.repeat(10_000))])]);
    await client.listInventory();
    expect(log.filter((line) => line.startsWith('unknownStatus')).map((line) => line.slice(0, 30))).toEqual([
      'unknownStatus a b ***',
      `unknownStatus ${'x'.repeat(16)}`,
    ]);
    expect(Math.max(...log.map((line) => line.length))).toBeLessThan(4_200);
  });

  test('names the first ten problems with their rows', async () => {
    const rows = [pet(1), ...Array.from({ length: 12 }, () => ({ petId: 'x', quantity: 1, status: 'sold' }))];
    const { client, seen } = scriptedClient([() => json(200, rows)]);
    const error = await rejectionOf(client.listInventory());
    expect(error).toMatchObject({
      name: 'InvalidResponseError',
      reason: 'schema',
      problems: Array.from({ length: 10 }, (_none, index) => ({
        path: `[${index + 1}].petId`,
        message: 'must be an integer, not a string',
      })),
      message: expect.stringMatching(/does not match: \[1\]\.petId must be an integer, not a string \(and 9 more\)$/),
    });
    expect(error).toMatchObject({ outcome: undefined, petId: undefined, attempts: 1 });
    expect(seen).toHaveLength(1);
  });

  test.each([
    ['an object', '{}', 'schema'],
    ['no JSON', '[', 'invalid-json'],
    ['nothing', '', 'invalid-json'],
    ['more than one document', '[] []', 'invalid-json'],
  ])('refuses %s', async (_what, body, reason) => {
    const { client } = scriptedClient([() => text(200, body)]);
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'InvalidResponseError', reason });
  });

  test('describes a page that comes instead of JSON', async () => {
    const { client } = scriptedClient([() => text(200, '<html>Please log in', { 'content-type': 'text/html; charset=utf-8' })]);
    expect(await rejectionOf(client.listInventory())).toMatchObject({
      reason: 'invalid-json',
      message: 'Cannot list the inventory: the service answered 200 with a body that is not valid JSON but text/html; charset=utf-8',
    });
  });

  test('does not mention the content type if that is JSON', async () => {
    const { client } = scriptedClient([() => text(200, '<html>')]);
    expect(await rejectionOf(client.listInventory())).toMatchObject({ message: expect.stringMatching(/ is not valid JSON$/) });
  });

  test('refuses an answer without a body', async () => {
    const { client } = scriptedClient([() => text(204, null)]);
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'InvalidResponseError', status: 204 });
  });

  test('refuses bytes that are not UTF-8', async () => {
    const { client } = scriptedClient([() => new Response(new Uint8Array([0x5b, 0xff, 0x5d]))]);
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'InvalidResponseError', reason: 'invalid-utf8' });
  });

  test('reads a list of some megabytes whose chunks end within items', async () => {
    const whole = new TextEncoder().encode(longList(60_000));
    const pieces = Array.from({ length: Math.ceil(whole.byteLength / 65_537) }, (_none, index) =>
      whole.slice(index * 65_537, (index + 1) * 65_537),
    );
    const { client } = scriptedClient([() => new Response(chunked(pieces))]);
    const items = await client.listInventory();
    expect([whole.byteLength > 2_000_000, items.length, items.at(-1)]).toEqual([true, 60_000, pet(60_000)]);
  });

  test('names the first ten problems of a list of some megabytes', async () => {
    const body = longList(60_000).replaceAll(/"quantity":\d+(?=[^}]*},{"petId":[45]\d{4},)/g, '"quantity":null');
    const { client } = scriptedClient([() => text(200, body)]);
    const paths = Array.from({ length: 10 }, (_none, index) => `[${39_998 + index}].quantity`);
    expect(await rejectionOf(client.listInventory())).toMatchObject({ problems: paths.map((path) => ({ path })) });
  });

  test.each([30, 2_000_000])('stops reading a list beyond `maxResponseBytes` of %i', async (maxResponseBytes) => {
    const chunk = new TextEncoder().encode(' '.repeat(1_000));
    const pull = vi.fn((controller: ReadableStreamDefaultController<Uint8Array>) => controller.enqueue(chunk));
    const body = () => new ReadableStream({ pull }, { highWaterMark: 0 });
    const { client, seen } = scriptedClient([() => new Response(body())], { maxResponseBytes });
    expect(await rejectionOf(client.listInventory())).toMatchObject({
      name: 'InvalidResponseError',
      reason: 'too-large',
      message: expect.stringContaining(`is longer than the \`maxResponseBytes\` of ${maxResponseBytes}`),
    });
    expect([seen.length, pull.mock.calls.length]).toEqual([1, Math.floor(maxResponseBytes / chunk.byteLength) + 1]);
  });

  test.each([3, 60_000])('accepts a list of exactly `maxResponseBytes`, and none that is longer: %i items', async (count) => {
    const body = longList(count);
    const answers = [() => text(200, body), () => text(200, `${body} `)];
    const { client } = scriptedClient(answers, { maxResponseBytes: body.length });
    expect(await client.listInventory()).toHaveLength(count);
    expect(await rejectionOf(client.listInventory())).toMatchObject({ reason: 'too-large' });
  });

  test('gives the same before and after a process has read many lists', async () => {
    const list = longList(1000);
    const bodies = {
      good: list,
      'with white space': JSON.stringify(JSON.parse(list), undefined, 2),
      'with a mark of its bytes': `\u{feff}${list}`,
      'with a long id': list.replace('"petId":500,', '"petId":9007199254740993,'),
      'with a fraction': list.replace('"petId":500,', '"petId":4503599627370497.5,'),
      'with bad items': list.replace('"petId":500,', '"petId":"x",').replace('"petId":700,', ''),
      'with a bad item and cut': list.replace('"petId":500,', '"petId":"x",').slice(0, -10),
      cut: list.slice(0, -10),
      'cut between items': list.slice(0, -1),
      'followed by text': `${list} x`,
      'no list': `{"items":${list}}`,
      'no JSON': `<html>${'x'.repeat(40_000)}</html>`,
      'no UTF-8': Buffer.concat([Buffer.from(list.slice(0, 30_000)), Buffer.from([0xff]), Buffer.from(list.slice(30_000))]),
    };
    const { ItemReader } = await import('../../src/json/item-reader.ts');
    const push = vi.spyOn(ItemReader.prototype, 'push');
    onTestFinished(() => push.mockRestore());
    const readAll = async () => {
      const read: Record<string, { result: unknown; isByReader: boolean }> = {};
      for (const [name, body] of Object.entries(bodies)) {
        push.mockClear();
        const { client } = scriptedClient([() => new Response(body, { headers: { 'content-type': 'application/json' } })]);
        const result = await client
          .listInventory({ maxRetries: 0 })
          .catch(({ message, reason, problems }) => ({ message, reason, problems }));
        read[name] = { result, isByReader: push.mock.calls.length > 0 };
      }
      return read;
    };
    const before = await readAll();
    await warmUp();
    const after = Object.entries(before).map(([name, { result, isByReader }]) => [name, { result, isByReader: !isByReader }]);
    expect(await readAll()).toEqual(Object.fromEntries(after));
    expect(before).toMatchObject({ good: { isByReader: false } });
  });

  test('refuses an item beyond 1 MiB', async () => {
    const { client } = scriptedClient([() => json(200, [pet(1), pet(2, 'x'.repeat(1_048_576))])]);
    expect(await rejectionOf(client.listInventory())).toMatchObject({ reason: 'too-large', problems: [{ path: '[1]' }] });
  });
});
