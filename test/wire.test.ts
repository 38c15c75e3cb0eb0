import nock from 'nock';
import { PetStoreClient } from 'petstore-inventory';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freshAddress, KEY } from './support/client.ts';
import { rejectionOf } from './support/outcome.ts';

/** One request as it was on the wire. */
interface OnWire {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

beforeAll(() => {
  // Only the first import in a thread begins to intercept.
  nock.restore();
  nock.activate();
  nock.disableNetConnect();
});

afterEach(() => {
  nock.cleanAll();
});

afterAll(() => {
  nock.enableNetConnect();
  nock.restore();
});

/** A service that gives these answers in turn, and a client for it; `wire` is what came over. */
function serve(...answers: [status: number, body?: string, headers?: Record<string, string>][]): {
  client: PetStoreClient;
  wire: OnWire[];
} {
  const baseUrl = freshAddress();
  const wire: OnWire[] = [];
  const left = [...answers];
  const answer = async (request: Request): Promise<nock.ReplyFnResult> => {
    const { method, url, headers } = request.clone();
    wire.push({
      method,
      path: url.slice(new URL(baseUrl).origin.length),
      headers: Object.fromEntries(headers),
      body: await request.text(),
    });
    const [status, text = '', answerHeaders = {}] = left.shift() ?? [500];
    return [status, text, answerHeaders];
  };
  nock(new URL(baseUrl).origin).persist().get(/./).reply(answer).patch(/./).reply(answer);
  return { client: new PetStoreClient({ apiKey: KEY, baseUrl, maxRetries: 0 }), wire };
}

const errorBody = (status: number) => JSON.stringify({ code: `code_${status}`, message: `Message ${status}`, status });

describe('on the wire', () => {
  test('listInventory is GET /v1/inventory with the key and without a body', async () => {
    const { client, wire } = serve([200, '[]']);
    expect(await client.listInventory()).toEqual([]);
    expect(wire).toEqual([
      {
        method: 'GET',
        path: '/v1/inventory',
        headers: expect.objectContaining({ authorization: `Bearer ${KEY}`, accept: 'application/json' }),
        body: '',
      },
    ]);
    expect(wire[0]?.headers).not.toHaveProperty('content-type');
  });

  test('updateInventory is PATCH /v1/inventory/{petId} with the key and the quantity as JSON', async () => {
    const { client, wire } = serve([200, '{"petId":42,"quantity":12,"status":"available"}']);
    expect(await client.updateInventory(42, { quantity: 12 })).toEqual({ petId: 42, quantity: 12, status: 'available' });
    expect(wire).toEqual([
      {
        method: 'PATCH',
        path: '/v1/inventory/42',
        headers: expect.objectContaining({
          authorization: `Bearer ${KEY}`,
          accept: 'application/json',
          'content-type': 'application/json',
        }),
        body: '{"quantity":12}',
      },
    ]);
  });

  test('a petId beyond 2^53 has every digit', async () => {
    const { client, wire } = serve([404, errorBody(404)]);
    await rejectionOf(client.updateInventory(-9_223_372_036_854_775_808n, { quantity: 0 }));
    expect(wire[0]?.path).toBe('/v1/inventory/-9223372036854775808');
  });
});

describe('every documented status of listInventory', () => {
  test('200 gives the items', async () => {
    const { client } = serve([200, '[{"petId":1,"quantity":2,"status":"sold"}]']);
    expect(await client.listInventory()).toEqual([{ petId: 1, quantity: 2, status: 'sold' }]);
  });

  test.each([
    [401, 'AuthenticationError'],
    [429, 'RateLimitError'],
  ])('%i rejects with a %s', async (status, name) => {
    const { client } = serve([status, errorBody(status), { 'retry-after': '3' }]);
    expect(await rejectionOf(client.listInventory())).toMatchObject({
      name,
      status,
      code: `code_${status}`,
      message: expect.stringContaining(`Cannot list the inventory: the service answered ${status} code_${status}: Message ${status}`),
      operation: 'listInventory',
      attempts: 1,
      retryAfterMs: 3_000,
    });
  });
});

describe('every documented status of updateInventory', () => {
  test('200 gives the item, and the reply its headers', async () => {
    const reset = Math.ceil(Date.now() / 1000) + 30;
    const limits = { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '59', 'X-RateLimit-Reset': String(reset) };
    const { client } = serve([200, '{"petId":42,"quantity":12,"status":"available"}', limits]);
    expect(await client.updateInventory(42, { quantity: 12 }).withResponse()).toMatchObject({
      data: { petId: 42, quantity: 12, status: 'available' },
      status: 200,
      rateLimit: { limit: 60, remaining: 59, resetAt: new Date(reset * 1000) },
      attempts: 1,
    });
  });

  test.each([
    [400, 'BadRequestError', 'rejected'],
    [401, 'AuthenticationError', 'rejected'],
    [404, 'NotFoundError', 'rejected'],
    [429, 'RateLimitError', 'rejected'],
    [500, 'ServerError', 'unknown'],
  ])('%i rejects with a %s, the change %s', async (status, name, outcome) => {
    const { client } = serve([status, errorBody(status)]);
    expect(await rejectionOf(client.updateInventory(42, { quantity: 12 }))).toMatchObject({
      name,
      status,
      code: `code_${status}`,
      outcome,
      petId: 42,
    });
  });
});

test.each<[string, (client: PetStoreClient) => Promise<unknown>]>([
  ['updateInventory', (client) => client.updateInventory(42, { quantity: 1 })],
  ['fetch', (client) => client.fetch('/store/orders', { method: 'POST', body: '{}' })],
])('a port that fetch blocks rejects %s at once with a ConfigurationError, and nothing was sent', async (_method, call) => {
  const client = new PetStoreClient({ apiKey: KEY, baseUrl: 'http://127.0.0.1:6666/v1' });
  expect(await rejectionOf(call(client))).toMatchObject({
    name: 'ConfigurationError',
    message: expect.stringContaining('fetch refuses the port of 127.0.0.1:6666'),
    option: 'baseUrl',
    attempts: 1,
    outcome: 'not-sent',
  });
});
