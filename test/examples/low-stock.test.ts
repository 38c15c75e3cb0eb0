import { type ServedSandbox, serveSandbox } from 'petstore-inventory/node';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type InstalledPackage, installPackage } from '../docs/support/installed-package.ts';
import type { RunningProgram } from '../docs/support/running-program.ts';

let installed: InstalledPackage;
let served: ServedSandbox;
let service: RunningProgram;
let url: string;

beforeAll(async () => {
  installed = await installPackage(['hono', '@hono/node-server']);
  await installed.copy('examples/low-stock.ts');
});
beforeEach(async () => {
  served = await serveSandbox({ pets: [50, 3, 9].map((quantity, index) => ({ petId: index + 1, quantity })) });
  const env = { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro, PORT: '0' };
  service = installed.start('examples/low-stock.ts', { env });
  url = (await service.tells(/listening on (\S+)/))[1] ?? '';
  return async () => {
    await service[Symbol.asyncDispose]();
    await served.close();
  };
});
afterAll(() => installed[Symbol.asyncDispose]());

test('low-stock.ts reports the pets below a quantity, the fewest first, and refuses a question that makes no sense', async () => {
  const answer = await fetch(`${url}/low-stock?below=10`);
  expect(await answer.json()).toEqual({
    below: 10,
    pets: [
      { petId: 2, quantity: 3, status: 'available' },
      { petId: 3, quantity: 9, status: 'available' },
    ],
  });
  expect(answer.headers.get('age')).toMatch(/^\d+$/);
  expect((await fetch(`${url}/low-stock?below=few`)).status).toBe(400);
});

test('low-stock.ts answers many requests from one list', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => fetch(`${url}/low-stock`)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(served.sandbox.requests).toHaveLength(1);
});

test('low-stock.ts ends its list when its only client disconnects', async () => {
  served.sandbox.faults.add({ fail: 'stall' });
  const controller = new AbortController();
  const answer = fetch(`${url}/low-stock`, { signal: controller.signal }).catch((error: unknown) => error);
  await expect.poll(() => served.sandbox.requests.length).toBe(1);
  controller.abort();
  await answer;
  await service.tells(/streamInventory, \d+ ms: .*(?:closed|abort)/i);
});

test.each([
  [{ status: 401, body: '' }, 500, null],
  [{ status: 200, body: '<html>' }, 502, null],
  [{ status: 302, body: '' }, 502, null],
  [{ status: 501, body: '' }, 502, null],
  [{ status: 503, body: '', headers: { 'retry-after': '30' } }, 503, expect.stringMatching(/^(?:2\d|3[01])$/)],
])('low-stock.ts answers its clients with a fitting status when the service answers %j', async (fault, status, retryAfter) => {
  served.sandbox.faults.add(fault);
  const answers = [await fetch(`${url}/low-stock`), await fetch(`${url}/low-stock`)];
  expect(answers.map((answer) => answer.status)).toEqual([status, status]);
  expect(answers[0]?.headers.get('retry-after')).toEqual(retryAfter);
  // The second one is not sent: the view waits for a second before it reads another list.
  expect(served.sandbox.requests).toHaveLength(1);
});

test('low-stock.ts answers 429 with the time after which its clients may try again', async () => {
  served.sandbox.faults.add({ status: 429, body: '', headers: { 'retry-after': '30' } });
  const answers = [await fetch(`${url}/low-stock`), await fetch(`${url}/low-stock`)];
  expect(answers.map(({ status }) => status)).toEqual([429, 429]);
  expect(answers[1]?.headers.get('retry-after')).toMatch(/^(?:2\d|3[01])$/);
  // The second one was not sent: the key is closed.
  expect(served.sandbox.requests).toHaveLength(1);
});

test('low-stock.ts answers requests that are under way after SIGTERM, and ends with 0', async () => {
  served.sandbox.faults.add({ delayMs: 300 });
  const answer = fetch(`${url}/low-stock`);
  await expect.poll(() => served.sandbox.requests.length).toBe(1);
  const code = service.end('SIGTERM');
  expect((await answer).status).toBe(200);
  expect(await code).toBe(0);
  await expect(fetch(`${url}/health`)).rejects.toThrow();
});
