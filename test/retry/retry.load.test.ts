import { AuthenticationError, NotFoundError, ServerError } from 'petstore-inventory';
import { expect, test, vi } from 'vitest';
import { retry } from '../../src/retry/retry.ts';
import { failure, item } from '../support/answers.ts';
import { makeCall } from '../support/call.ts';
import { KEY, scriptedClient } from '../support/client.ts';
import { rejectionOf } from '../support/outcome.ts';
import { nextTurn } from '../support/unhandled.ts';

const loaded = vi.hoisted(() => vi.fn());
vi.mock('../../src/retry/backoff.ts', (original) => {
  loaded();
  return original();
});

const steps = { gate: { retries: { pay: () => undefined }, outagePaceOf: () => undefined }, watch: () => () => {} };
let keys = 0;
const down = new ServerError('down', { status: 502 });

test.each([
  { failure: new NotFoundError('no such pet', { status: 404 }), maxRetries: 3 },
  { failure: new AuthenticationError('a wrong key', { status: 401 }), maxRetries: 3 },
  { failure: down, maxRetries: 0 },
])('retry does not load p-retry for a call that it does not repeat: $failure.message', async ({ failure: thrown, maxRetries }) => {
  const attempt = () => Promise.reject(thrown);
  expect(await rejectionOf(retry(makeCall({}, { maxRetries }), { ...steps, attempt }))).toBe(thrown);
  await nextTurn();
  expect(loaded).not.toHaveBeenCalled();
});

test('a client whose key is a text does not load p-retry for a 401', async () => {
  const { client } = scriptedClient([() => failure(401)]);
  expect(await rejectionOf(client.listInventory())).toBeInstanceOf(AuthenticationError);
  await nextTurn();
  expect(loaded).not.toHaveBeenCalled();
});

test('retry loads p-retry for a call that it repeats', async () => {
  const attempt = vi.fn(() => Promise.resolve('done')).mockRejectedValueOnce(new ServerError('down', { status: 503, retryAfterMs: 0 }));
  expect(await retry(makeCall(), { ...steps, attempt })).toBe('done');
  expect(loaded).toHaveBeenCalledOnce();
});

test.each([
  { because: 'of a 503 with Retry-After', refusal: failure(503, { 'retry-after': '0' }), apiKey: KEY },
  { because: 'a 401 may mean that the key was replaced', refusal: failure(401), apiKey: () => `key-${++keys}` },
])('a client whose test runner has reset its modules still retries because $because', async ({ refusal, apiKey }) => {
  const { client } = scriptedClient([() => refusal, () => item(1)], { apiKey });
  vi.resetModules();
  expect(await client.updateInventory(1, { quantity: 1 })).toMatchObject({ petId: 1 });
});
