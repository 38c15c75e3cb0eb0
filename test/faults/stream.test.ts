import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { rejectionOf, within } from '../support/outcome.ts';
import { failing, ITEMS, itemsOf, LIST_TEXT, lab, ok, pause, silence, until } from './lab.ts';
import { head, type Step } from './raw-server.ts';

const ROW = '{"petId":1,"quantity":10,"status":"available"}';
const rows = (count: number) => Array(count).fill(ROW).join();

/** Sends the beginning of a list and then does what `rest` says. */
function beginning(text: string, rest: Step): Step {
  return async (wire) => {
    wire.write(head(200, { 'Content-Length': 10_000_000 }) + text);
    await pause(20);
    await rest(wire);
  };
}

const reset: Step = (wire) => wire.reset();

test.concurrent.each<[string, Step]>([
  ['a reset', reset],
  ['a 503', failing(503)],
  ['an end within the first item', beginning(`[${ROW.slice(0, 9)}`, ({ end }) => end())],
  ['a stall before the first item', beginning('[', silence)],
])('a stream whose beginning fails by %s is requested again', async (_name, fault) => {
  await using at = await lab([fault, ok], { attemptTimeoutMs: 1_500 });
  expect(await itemsOf(at.client.streamInventory())).toEqual(ITEMS);
  expect(at.server.requests).toHaveLength(2);
});

test.concurrent.each<[string, Step, string]>([
  ['is reset', reset, 'ConnectionError'],
  ['ends', ({ end }) => end(), 'ConnectionError'],
  ['stalls', silence, 'TimeoutError'],
  ['becomes a page', ({ write }) => write(',<html>, '), 'InvalidResponseError'],
])('a stream that %s in the middle rejects with the number of items that came, and is not requested again', async (_name, fault, name) => {
  const items: unknown[] = [];
  // A reset throws away what was not read yet.
  const afterThree: Step = async (wire) => {
    await until(() => items.length === 3);
    await fault(wire);
  };
  await using at = await lab([beginning(`[${rows(3)}`, afterThree), ok], { attemptTimeoutMs: 1_500 });
  const reading = async () => {
    for await (const item of at.client.streamInventory()) items.push(item);
  };
  const error = await rejectionOf(reading());
  expect(error).toMatchObject({ name, attempts: 1, message: expect.stringContaining('beyond item 3:') });
  expect(items).toHaveLength(3);
  expect(at.log.filter((line) => line.startsWith('settled'))).toHaveLength(1);
  expect(at.server.requests).toHaveLength(1);
});

test.concurrent('leaving a stream early closes its connection', async () => {
  await using at = await lab([beginning(`[${rows(3)},`, silence)]);
  for await (const _ of at.client.streamInventory()) break;
  expect(await until(() => at.server.dropped > 0)).toBe(true);
  expect(at.log.at(-1)).toMatch(/^settled succeeded/);
});

test.concurrent('throwing within the loop closes the connection', async () => {
  await using at = await lab([beginning(`[${rows(3)},`, silence)]);
  const reading = async () => {
    for await (const _ of at.client.streamInventory()) throw new Error('mine');
  };
  expect(await rejectionOf(reading())).toMatchObject({ message: 'mine' });
  expect(await until(() => at.server.dropped > 0)).toBe(true);
});

test.concurrent('an abort between two items ends the stream with the reason and closes its connection, even without another read', async () => {
  await using at = await lab([beginning(`[${rows(1)},`, silence)]);
  const controller = new AbortController();
  const items = at.client.streamInventory({ signal: controller.signal })[Symbol.asyncIterator]();
  await items.next();
  controller.abort('enough');
  expect(await until(() => at.server.dropped > 0)).toBe(true);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  expect(at.log.at(-1)).toMatch(/^settled unknown/);
  expect(await rejectionOf(items.next())).toBe('enough');
});

test.concurrent('an abort while a stream waits for bytes ends it within 50 ms', async () => {
  await using at = await lab([beginning(`[${rows(1)},`, silence)]);
  const controller = new AbortController();
  const reading = rejectionOf(itemsOf(at.client.streamInventory({ signal: controller.signal })));
  await pause(200);
  const heard = within(50, reading);
  controller.abort('enough');
  expect(await heard).toBe('enough');
});

test.concurrent('close() ends a stream that is open', async () => {
  await using at = await lab([beginning(`[${rows(1)},`, silence)]);
  const reading = rejectionOf(itemsOf(at.client.streamInventory()));
  await pause(100);
  at.client.close();
  expect(await reading).toMatchObject({ name: 'AbortError' });
});

test.concurrent('the time limit of a stream does not run while its consumer is busy', async () => {
  const slowly: Step = async ({ write, end }) => {
    write(`${head(200, { 'Transfer-Encoding': 'chunked' })}${(rows(1).length + 1).toString(16)}\r\n[${rows(1)}\r\n`);
    await pause(50);
    write(`${(rows(1).length + 2).toString(16)}\r\n,${rows(1)}]\r\n`);
    end('0\r\n\r\n');
  };
  await using at = await lab([slowly], { attemptTimeoutMs: 1_000 });
  const seen: unknown[] = [];
  for await (const item of at.client.streamInventory()) {
    seen.push(item);
    await pause(1_200);
  }
  expect(seen).toHaveLength(2);
});

test.concurrent('a slow body that keeps arriving does not time out, however long it takes', async () => {
  const trickle: Step = async ({ write }) => {
    write(head(200, { 'Content-Length': LIST_TEXT.length }));
    for (const part of LIST_TEXT.match(/.{1,20}/g) ?? []) {
      await pause(250);
      write(part);
    }
  };
  await using at = await lab([trickle], { attemptTimeoutMs: 1_000, maxRetries: 0 });
  expect(await itemsOf(at.client.streamInventory())).toEqual(ITEMS);
});

test.concurrent('a stream that is never read sends nothing', async () => {
  await using at = await lab([ok]);
  at.client.streamInventory();
  at.client.streamInventory().batches();
  await pause(50);
  expect(at.server.connections).toBe(0);
});

test.concurrent('a stream that is left before it begins sends nothing more', async () => {
  await using at = await lab([failing(503), ok]);
  const items = at.client.streamInventory()[Symbol.asyncIterator]();
  const first = items.next();
  await pause(100);
  const heard = within(50, first);
  await items.return?.();
  expect(await heard).toEqual({ done: true, value: undefined });
  await pause(700);
  expect(at.server.requests).toHaveLength(1);
});

test.concurrent('readers that do not wait for each other get every item once, in order', async () => {
  const many = Array.from({ length: 300 }, (_, petId) => ({ petId, quantity: 1, status: 'sold' }));
  const inParts: Step = async ({ write }) => {
    const text = JSON.stringify(many);
    write(head(200, { 'Content-Length': text.length }));
    for (const part of text.match(/.{1,500}/g) ?? []) {
      write(part);
      await pause(1);
    }
  };
  await using at = await lab([inParts]);
  const items = at.client.streamInventory()[Symbol.asyncIterator]();
  const results = await Promise.all(Array.from({ length: 320 }, () => items.next()));
  expect(results.filter(({ done }) => !done).map(({ value }) => value)).toEqual(many);
});
