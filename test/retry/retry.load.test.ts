import { AuthenticationError, NotFoundError, ServerError } from 'petstore-inventory';
import { expect, test, vi } from 'vitest';
import { retry } from '../../src/retry/retry.ts';
import { failure } from '../support/answers.ts';
import { makeCall } from '../support/call.ts';
import { scriptedClient } from '../support/client.ts';
import { rejectionOf } from '../support/outcome.ts';
import { nextTurn } from '../support/unhandled.ts';

const loaded = vi.hoisted(() => vi.fn());
vi.mock('p-retry', (original) => {
  loaded();
  return original();
});

const steps = { gate: { retries: { pay: () => undefined }, outagePaceOf: () => undefined } };
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
