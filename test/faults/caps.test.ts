import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { PetStoreClient } from 'petstore-inventory';
import { expect, test } from 'vitest';
import { rejectionOf } from '../support/outcome.ts';
import { itemsOf, lab, until } from './lab.ts';
import { head, type Step, type Wire } from './raw-server.ts';

const MIB = 1_048_576;
const LONG = 'x'.repeat(65_536);

/** Sends `begin` and then more and more of the same, until the other side has enough. */
function flood(begin: string, more: string, status = 200): Step {
  return ({ socket, write }: Wire) => {
    write(head(status, { 'Content-Length': 2 ** 40 }) + begin);
    const pour = () => {
      while (!socket.destroyed && socket.write(more)) {}
    };
    socket.on('drain', pour);
    pour();
  };
}

const list = (client: PetStoreClient) => client.listInventory();
const stream = (client: PetStoreClient) => itemsOf(client.streamInventory());
const update = (client: PetStoreClient) => client.updateInventory(1, { quantity: 5 });

const ONE_ITEM = '{"petId":1,"quantity":5,"status":"';
test.concurrent.each([
  ['an item of a list', list, flood(`[${ONE_ITEM}`, LONG)],
  ['an item of a stream', stream, flood(`[${ONE_ITEM}`, LONG)],
  ['an updated item', update, flood(ONE_ITEM, LONG)],
  ['white space within an item of a list', list, flood('[{', ' '.repeat(65_536))],
  ['a number in a list', list, flood('[', '1'.repeat(65_536))],
  ['nested lists in a stream', stream, flood('[', '['.repeat(65_536))],
  ['an item of escapes', update, flood(ONE_ITEM, '\\'.repeat(65_536))],
] as const)('%s without an end is too large, and its connection is dropped', async (_name, call, step) => {
  await using at = await lab([step]);
  const error = await rejectionOf(call(at.client));
  expect(error).toMatchObject({ name: 'InvalidResponseError', reason: 'too-large', attempts: 1 });
  expect(await until(() => at.server.dropped > 0)).toBe(true);
});

test.concurrent('a list is read up to `maxResponseBytes`, and no further', async () => {
  const row = '{"petId":1,"quantity":5,"status":"sold"},';
  await using at = await lab([flood('[', row.repeat(2000))], { maxResponseBytes: 3 * MIB });
  const error = await rejectionOf(list(at.client));
  expect(error).toMatchObject({ reason: 'too-large', message: expect.stringContaining(`\`maxResponseBytes\` of ${3 * MIB}`) });
  expect(await until(() => at.server.dropped > 0)).toBe(true);
});

test.concurrent('endless white space is read up to `maxResponseBytes`', async () => {
  await using at = await lab([flood('[', ' '.repeat(65_536))], { maxResponseBytes: 5 * MIB });
  expect(await rejectionOf(list(at.client))).toMatchObject({ reason: 'too-large' });
});

test.concurrent.each([404, 503, 429, 302])('an Error body of a %i is read up to 64 KiB, and its connection is dropped', async (status) => {
  await using at = await lab([flood('{"code":"', LONG, status)], { maxRetries: 0 });
  const error = await rejectionOf(update(at.client));
  expect(error).toMatchObject({ status, code: `http_${status}`, bodyText: expect.stringMatching(/^\{"code":"x+$/) });
  expect(await until(() => at.server.dropped > 0)).toBe(true);
});

const BOMBS: Record<string, (text: string) => Uint8Array> = { gzip: gzipSync, br: brotliCompressSync, zstd: zstdCompressSync };
const BOMB = `[${ONE_ITEM}${'x'.repeat(16 * MIB)}"}]`;
test.concurrent.each(['gzip', 'br', 'zstd'])(
  'a %s bomb is read only up to the size of an item, counted after decompression',
  async (coding) => {
    const bomb = BOMBS[coding]?.(BOMB) ?? '';
    const step: Step = ({ answer }) => answer(200, bomb, { 'Content-Encoding': coding });
    const { fetch, readBytes } = countingFetch();
    await using at = await lab([step], { fetch });
    const errors = [await rejectionOf(list(at.client)), await rejectionOf(stream(at.client)), await rejectionOf(update(at.client))];
    expect(errors).toMatchObject(Array(3).fill({ reason: 'too-large', attempts: 1 }));
    expect(readBytes.map((bytes) => bytes < 2 * MIB)).toEqual([true, true, true]);
  },
);

/** A fetch that counts the bytes of each body that are asked for, after decompression. */
function countingFetch(): { fetch: typeof globalThis.fetch; readBytes: number[] } {
  const readBytes: number[] = [];
  const fetch = async (...asked: Parameters<typeof globalThis.fetch>) => {
    const response = await globalThis.fetch(...asked);
    const at = readBytes.push(0) - 1;
    const transform = (chunk: Uint8Array<ArrayBuffer>, controller: TransformStreamDefaultController<Uint8Array<ArrayBuffer>>) => {
      readBytes[at] = (readBytes[at] ?? 0) + chunk.byteLength;
      controller.enqueue(chunk);
    };
    const counted = response.body?.pipeThrough(new TransformStream({ transform }, undefined, { highWaterMark: 0 })) ?? null;
    return new Response(counted, { status: response.status, headers: response.headers });
  };
  return { fetch, readBytes };
}

test.concurrent('a bomb in an Error body does not change the class, which the status decides', async () => {
  const bomb = gzipSync('x'.repeat(64 * MIB));
  await using at = await lab([({ answer }) => answer(404, bomb, { 'Content-Encoding': 'gzip' })]);
  expect(await rejectionOf(update(at.client))).toMatchObject({ name: 'NotFoundError', bodyText: 'x'.repeat(1024) });
});

test.concurrent('a stream with many unknown statuses announces 32 of them', async () => {
  const rows = Array.from({ length: 5000 }, (_, row) => ({ petId: row, quantity: 1, status: `status ${row}` }));
  await using at = await lab([({ answer }) => answer(200, JSON.stringify(rows))]);
  expect(await itemsOf(at.client.streamInventory())).toEqual(rows);
  expect(at.log.filter((line) => line.startsWith('unknownStatus'))).toHaveLength(32);
});

test.concurrent('a text of the service is cut to 4 KiB, without control characters', async () => {
  const message = `\u001b[31mred\u001b]0;title\u0007 \u0000\r\n\u202e\u009b31m${'x'.repeat(10_000)}`;
  await using at = await lab([({ answer }) => answer(400, JSON.stringify({ code: 'E\u001b[2J', message, status: 400 }))]);
  const error = await rejectionOf(update(at.client));
  expect(error).toMatchObject({ name: 'BadRequestError', code: 'E [2J' });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
  expect(String(error)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  expect(String(error).length).toBeLessThan(4300);
});
