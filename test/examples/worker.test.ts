import { type ServedSandbox, serveSandbox } from 'petstore-inventory/node';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import worker from '../../examples/worker.ts';

let served: ServedSandbox;
const underWay: Promise<unknown>[] = [];

beforeAll(async () => {
  served = await serveSandbox({ pets: [{ petId: 42, quantity: 3 }] });
});
afterAll(() => served.close());

/** What the runtime does with a request. */
function ask(path: string, init?: RequestInit): Promise<Response> {
  const env = { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.business, SCANNER_TOKEN: 'beep' };
  return worker.fetch(new Request(`https://worker.example${path}`, init), env, { waitUntil: (work) => void underWay.push(work) });
}

const headers = { authorization: 'Bearer beep' };

test('worker.ts gives the stock of a pet, and says that a pet does not exist', async () => {
  expect(await (await ask('/stock/42')).json()).toEqual({ petId: 42, quantity: 3, status: 'available' });
  expect((await ask('/stock/43')).status).toBe(404);
});

test('worker.ts sets a stock after it has answered', async () => {
  const answer = await ask('/stock/42', { method: 'PUT', headers, body: '{"quantity":8}' });
  expect(answer.status).toBe(202);
  await Promise.all(underWay);
  expect(served.sandbox.inventory.get(42)?.quantity).toBe(8);
});

test('worker.ts logs an update that fails after it has answered', async () => {
  const log = vi.spyOn(console, 'error').mockReturnValue();
  expect((await ask('/stock/43', { method: 'PUT', headers, body: '{"quantity":8}' })).status).toBe(202);
  await Promise.all(underWay);
  expect(log).toHaveBeenCalledWith('Cannot update pet 43: the service answered 404 pet_missing: There is no pet 43');
});

test.each([
  ['/', {}, 404],
  ['/stock/forty', {}, 404],
  ['/stock/42', { method: 'DELETE' }, 405],
  ['/stock/42', { method: 'PUT', body: '{"quantity":8}' }, 401],
  ['/stock/42', { method: 'PUT', headers, body: '{"quantity":"8"}' }, 400],
  ['/stock/42', { method: 'PUT', headers, body: 'eight' }, 400],
])('worker.ts refuses %s %j with %i, and sends nothing', async (path, init, status) => {
  served.sandbox.clear();
  expect((await ask(path, init)).status).toBe(status);
  expect(served.sandbox.requests).toHaveLength(0);
});

test('worker.ts refuses every update if its secret is not set', async () => {
  const env = { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.business, SCANNER_TOKEN: '' };
  const scan = (authorization: string) =>
    worker.fetch(
      new Request('https://worker.example/stock/42', { method: 'PUT', headers: { authorization }, body: '{"quantity":8}' }),
      env,
      {
        waitUntil: (work) => void underWay.push(work),
      },
    );
  expect((await scan('Bearer')).status).toBe(401);
  expect((await scan('Bearer undefined')).status).toBe(401);
});

test('worker.ts says that the stock cannot be read, without details', async () => {
  const log = vi.spyOn(console, 'error').mockReturnValue();
  served.sandbox.faults.add({ status: 501, body: '', times: 1 });
  const answer = await ask('/stock/42');
  expect([answer.status, await answer.json()]).toEqual([502, { error: 'the stock cannot be read now' }]);
  expect(log).toHaveBeenCalledWith(expect.stringContaining('the service answered 501'));
});
