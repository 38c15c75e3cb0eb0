import { expect, test, vi } from 'vitest';
import { FinishingClient } from '../../src/cli/finishing-client.ts';
import { PetStoreClient } from '../../src/client.ts';
import { failure, item } from '../support/answers.ts';

let keys = 0;

/** Updates of pets that the service answers in this order, and those that were sent. */
function finishingClient(answers: (() => Response | Promise<Response>)[]) {
  const sent: string[] = [];
  keys += 1;
  const client = new PetStoreClient({
    int64: 'bigint',
    // What is known of the quota of a key outlives a client.
    apiKey: `key-${keys}`,
    baseUrl: 'https://pets.test/v1',
    concurrency: 1,
    fetch: async (url) => {
      sent.push(String(url).split('/').at(-1) ?? '');
      return answers.shift()?.() ?? item(1);
    },
  });
  return { client: new FinishingClient(client), inner: client, sent, close: () => client.close() };
}

const REASON = new DOMException('Interrupted', 'AbortError');

test('FinishingClient lets a request under way finish, and ends one that waits', async () => {
  const abort = new AbortController();
  const answer = Promise.withResolvers<Response>();
  const { client, sent, close } = finishingClient([() => answer.promise]);
  const underWay = client.updateInventory(1, { quantity: 1 }, { signal: abort.signal, priority: 'low' });
  const waiting = client.updateInventory(2, { quantity: 1 }, { signal: abort.signal, priority: 'low' });
  await expect.poll(() => sent).toEqual(['1']);
  abort.abort(REASON);
  await expect(waiting).rejects.toBe(REASON);
  answer.resolve(item(1));
  await expect(underWay).resolves.toMatchObject({ petId: 1n });
  expect(sent).toEqual(['1']);
  close();
});

test('FinishingClient also ends the second update of a pet while it waits', async () => {
  const abort = new AbortController();
  const answer = Promise.withResolvers<Response>();
  const { client, sent, close } = finishingClient([() => item(1), () => answer.promise]);
  const options = { signal: abort.signal, priority: 'low' } as const;
  await client.updateInventory(1, { quantity: 1 }, options);
  const underWay = client.updateInventory(2, { quantity: 1 }, options);
  const waiting = client.updateInventory(1, { quantity: 2 }, options);
  await expect.poll(() => sent).toEqual(['1', '2']);
  abort.abort(REASON);
  await expect(waiting).rejects.toBe(REASON);
  answer.resolve(item(2));
  await underWay;
  close();
});

test('FinishingClient tells when a request of an update is sent', async () => {
  const { client, close } = finishingClient([() => item(1), () => item(2)]);
  const told: unknown[] = [];
  const stop = client.on('request', ({ petId }) => told.push(petId));
  await client.updateInventory(1, { quantity: 1 });
  stop();
  await client.updateInventory(2, { quantity: 1 });
  expect(told).toEqual([1]);
  close();
});

test('FinishingClient passes on the priority of an update', async () => {
  const { client, inner, close } = finishingClient([]);
  const update = vi.spyOn(inner, 'updateInventory');
  await client.updateInventory(1, { quantity: 1 }, { signal: new AbortController().signal, priority: 'low' });
  expect(update).toHaveBeenCalledWith(1, { quantity: 1 }, { signal: expect.any(AbortSignal), priority: 'low' });
  close();
});

test.each([
  ['fails', () => failure(500)],
  ['is refused', () => failure(429, { 'retry-after': '60' })],
])('FinishingClient does not send again what %s after the abort', async (_how, late) => {
  const abort = new AbortController();
  const answer = Promise.withResolvers<Response>();
  const { client, sent, close } = finishingClient([() => answer.promise]);
  const underWay = client.updateInventory(1, { quantity: 1 }, { signal: abort.signal, priority: 'low' });
  await expect.poll(() => sent).toEqual(['1']);
  abort.abort(REASON);
  answer.resolve(late());
  await expect(underWay).rejects.toBe(REASON);
  expect(sent).toEqual(['1']);
  close();
});

test('FinishingClient ends a call that is backing off when it is aborted', async () => {
  const abort = new AbortController();
  const { client, sent, close } = finishingClient([() => failure(429, { 'retry-after': '60' })]);
  const backingOff = client.updateInventory(1, { quantity: 1 }, { signal: abort.signal, priority: 'low' });
  await expect.poll(() => sent).toEqual(['1']);
  await new Promise(setImmediate);
  abort.abort(REASON);
  await expect(backingOff).rejects.toBe(REASON);
  close();
});
