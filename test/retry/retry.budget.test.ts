import { isPetStoreError, PetStoreClient, ServerError } from 'petstore-inventory';
import { describe, expect, test, vi } from 'vitest';
import { chunked, failure, item, json } from '../support/answers.ts';
import { KEY, scriptedClient } from '../support/client.ts';
import { rejectionOf } from '../support/outcome.ts';
import { holdTime, settled } from '../support/time.ts';

holdTime();

const good = () => item(1);
const bad = () => failure(500);

/** Calls that are answered at the third attempt: one in a row less than what looks like an outage, and five of them use the budget up. */
const DRAIN = Array.from({ length: 5 }, () => [bad, bad, good]).flat();

/** A client whose budget is used up. Its next answers are these, the last one for ever. */
async function drained(...answers: (() => Response)[]) {
  const at = scriptedClient([...DRAIN, ...answers]);
  const told: unknown[] = [];
  at.client.on('retryBudget', (event) => told.push(event));
  await updates(at.client, 5);
  at.log.length = 0;
  return { ...at, told };
}

type Client = ReturnType<typeof scriptedClient>['client'];

const update = (client: Client) => client.updateInventory(1, { quantity: 1 });

/** One update after the other, in fake time. */
async function updates(client: Client, count: number): Promise<void> {
  const work = async () => {
    for (let n = 0; n < count; n++) await update(client);
  };
  await settled(work());
}

describe('a call that fails while the retry budget is used up', () => {
  test('rejects with its failure, and says that the budget is used up', async () => {
    const { client, seen } = await drained(bad);
    const error = await rejectionOf(update(client));
    expect(error).toBeInstanceOf(ServerError);
    expect(error).toMatchObject({
      message:
        'Cannot update pet 1: the service answered 500 code_500: message 500; not tried again: too many requests fail, so retries are limited until more succeed',
      code: 'code_500',
      status: 500,
      attempts: 1,
      outcome: 'unknown',
      cause: { name: 'ServerError', message: 'Cannot update pet 1: the service answered 500 code_500: message 500' },
    });
    expect([isPetStoreError(error), seen.length]).toEqual([true, 16]);
  });

  test('does not wait, and reports no retry', async () => {
    const { client, log } = await drained(bad);
    await rejectionOf(update(client));
    expect(log).toEqual(['request 1 PATCH /inventory/1', 'response 500', 'settled unknown 0']);
  });

  test('mentions the budget only after a failure that could be retried', async () => {
    const { client } = await drained(() => failure(404));
    expect(await rejectionOf(update(client))).toMatchObject({ message: expect.not.stringContaining('limited') });
  });

  test('is sent like any other, since first attempts cost nothing', async () => {
    const { client } = await drained(good);
    expect([client.retryBudget, await update(client)]).toMatchObject([{ available: 0, capacity: 10 }, { petId: 1 }]);
  });
});

describe('retryBudget', () => {
  test('counts a streamed list once, although its permit is released before its body has come', async () => {
    const { client } = await drained(() => json(200, []));
    const read = () => settled(client.streamInventory().batches().next());
    await read();
    expect(client.retryBudget.available).toBe(0);
    await read();
    expect(client.retryBudget.available).toBe(1);
  });

  test('is reported when it is used up, and when half of it is back, each time once', async () => {
    const { client, told } = await drained(good);
    await updates(client, 40);
    const event = { operation: 'updateInventory', petId: 1 };
    expect(told).toEqual([
      { ...event, callId: 5, attempt: 2, state: 'empty', available: 0 },
      { ...event, callId: 35, attempt: 1, state: 'refilled', available: 5 },
    ]);
  });

  test('is refilled by final refusals, but not by answers that may be retried', async () => {
    const { client } = await drained(() => failure(404));
    const rejections = Array.from({ length: 9 }, () => rejectionOf(update(client)));
    await settled(Promise.all(rejections));
    expect(client.retryBudget.available).toBe(2);
    const other = await drained(() => failure(408));
    await settled(Promise.all(Array.from({ length: 9 }, () => rejectionOf(update(other.client)))));
    expect(other.client.retryBudget.available).toBe(0);
  });

  test('is not refilled by good headers whose body breaks', async () => {
    const { client } = await drained(() => new Response(chunked(['{'], 'break')));
    await settled(Promise.all(Array.from({ length: 9 }, () => rejectionOf(update(client)))));
    expect(client.retryBudget.available).toBe(0);
  });

  test('pays for the first two failures, and not for retries in an outage', async () => {
    const { client } = scriptedClient([...Array.from({ length: 12 }, () => bad), () => json(200, [])]);
    const left: number[] = [];
    client.on('response', () => left.push(client.retryBudget.available));
    const calls = Array.from({ length: 100 }, () => client.listInventory());
    expect(await settled(Promise.all(calls))).toHaveLength(100);
    expect([Math.min(...left), client.retryBudget.available]).toEqual([8, 10]);
  });

  test('does not end a call in an outage that lasts too long', async () => {
    const { client } = scriptedClient([bad], { maxRetries: 1_000, maxWaitMs: 60_000 });
    const errors = await settled(Promise.all(Array.from({ length: 100 }, () => rejectionOf(client.listInventory()))));
    expect(String(errors)).toContain('the service is down for longer');
    expect(String(errors)).not.toContain('limited');
  });

  test('is one for all clients of an address and key', async () => {
    const { client } = await drained(good);
    const other = new PetStoreClient({ apiKey: KEY, baseUrl: client.baseUrl });
    expect(other.retryBudget).toEqual({ available: 0, capacity: 10 });
  });

  test.each([429, 503])('does not pay for the retry after a %i with Retry-After', async (status) => {
    const asked = () => failure(status, { 'retry-after': '1' });
    const { client } = scriptedClient([asked, asked, good]);
    expect(await settled(update(client))).toMatchObject({ petId: 1 });
    expect(client.retryBudget.available).toBe(10);
  });

  test('gets back a retry that was not sent because of an abort', async () => {
    const { client } = scriptedClient([bad]);
    const controller = new AbortController();
    const rejection = rejectionOf(client.updateInventory(1, { quantity: 1 }, { signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(100);
    const meanwhile = client.retryBudget.available;
    controller.abort();
    await rejection;
    expect([meanwhile, client.retryBudget.available]).toEqual([9, 10]);
  });

  test('gets back a retry that the gate refused', async () => {
    const day = { 'retry-after': '86400' };
    const { client } = scriptedClient([bad, () => failure(429, day)]);
    const refused = rejectionOf(client.updateInventory(1, { quantity: 1 }));
    await vi.advanceTimersByTimeAsync(100);
    const closing = rejectionOf(client.updateInventory(2, { quantity: 1 }));
    await settled(Promise.all([refused, closing]));
    expect(client.retryBudget.available).toBe(10);
    expect(await refused).toMatchObject({ message: expect.stringContaining('; not tried again: the service closed this key') });
  });

  test('pays for a retry that is sent, whatever the outcome of the call', async () => {
    const { client } = scriptedClient([bad, () => failure(404)]);
    await settled(rejectionOf(update(client)));
    expect(client.retryBudget.available).toBe(9);
  });
});
