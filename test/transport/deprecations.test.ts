import { type ClientEvents, PetStoreClient } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { describe, expect, test } from 'vitest';
import { failure, item, json } from '../support/answers.ts';
import { scriptedClient } from '../support/client.ts';

const HEADERS = {
  deprecation: '@1793491200',
  sunset: 'Wed, 30 Jun 2027 00:00:00 GMT',
  link: '</news>; rel="deprecation"',
};

/** A client of a sandbox that announces the end of what `isOld` holds of, what it told, and its warnings. */
function setUp(isOld: (path: string) => boolean) {
  const sandbox = createSandbox({ faults: [{ when: ({ path }) => isOld(path), headers: HEADERS }], routes: () => Response.json({}) });
  const warnings: string[] = [];
  const logger = { debug: () => {}, info: () => {}, warn: (line: string) => warnings.push(line), error: () => {} };
  const { baseUrl, fetch } = sandbox;
  const client = new PetStoreClient({ apiKey: sandbox.keys.business, baseUrl, fetch, logger });
  const told: ClientEvents['deprecation'][] = [];
  client.on('deprecation', (event) => told.push(event));
  return { client, told, warnings, baseUrl };
}

describe('A deprecation', () => {
  test('is one event and one warning for each operation, with its dates and its link', async () => {
    const { client, told, warnings, baseUrl } = setUp((path) => path.includes('/inventory/'));
    await client.listInventory();
    await client.updateInventory(1, { quantity: 4 });
    await client.updateInventory(2, { quantity: 5 });
    expect(told).toEqual([
      {
        callId: 2,
        operation: 'updateInventory',
        petId: 1,
        attempt: 1,
        method: 'PATCH',
        path: '/inventory/1',
        deprecatedAt: new Date(1_793_491_200_000),
        sunsetAt: new Date('2027-06-30T00:00:00Z'),
        link: new URL('/news', baseUrl).href,
      },
    ]);
    expect(warnings).toEqual([
      expect.stringMatching(/^petstore-inventory: update pet 1 finds PATCH \/inventory\/1 deprecated as of 2026-1/),
    ]);
  });

  test('is reported once for each endpoint of fetch, whatever the ids in its path', async () => {
    const { client, told } = setUp(() => true);
    for (const path of ['/pets/1', '/pets/2?secret=1', '/store/orders', '/pets/3']) await (await client.fetch(path)).text();
    expect(told.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /pets/1', 'GET /store/orders']);
  });

  test('is reported for a failed attempt too, after its response', async () => {
    const { client, log } = scriptedClient([() => failure(404, HEADERS), () => item(42)]);
    client.on('deprecation', ({ attempt }) => log.push(`deprecation ${attempt}`));
    await client.updateInventory(42, { quantity: 1 }).catch(() => {});
    expect(log.filter((line) => !line.startsWith('settled'))).toEqual(['request 1 PATCH /inventory/42', 'response 404', 'deprecation 1']);
  });

  test.each([
    ['part-one>part-two', 'part-one>part-two'],
    ['part-one\\part-two', 'part-one\\part-two'],
    ['part-onepart-two', 'part-one\tpart-two'],
  ])('has a link without the key %s that the service writes as %j', async (apiKey, written) => {
    const headers = { ...HEADERS, link: `<https://shop.test/news/${written}>; rel="deprecation"` };
    const client = new PetStoreClient({ apiKey, baseUrl: 'https://shop.test/v1', fetch: async () => json(200, [], headers) });
    const told: unknown[] = [];
    client.on('deprecation', ({ link }) => told.push(link));
    await client.listInventory();
    expect(told).toEqual(['https://shop.test/news/***']);
  });

  test('is reported without a link if there is none', async () => {
    const { client } = scriptedClient([() => json(200, [], { deprecation: 'true' })]);
    const told: unknown[] = [];
    client.on('deprecation', (event) => told.push(event));
    await client.listInventory();
    expect(told).toEqual([expect.not.objectContaining({ link: expect.anything() })]);
  });

  test('is reported to the first listener if there was none before', async () => {
    const { client } = scriptedClient([() => json(200, [], HEADERS), () => json(200, [], HEADERS)]);
    await client.listInventory();
    const told: number[] = [];
    client.on('deprecation', ({ callId }) => told.push(callId));
    await client.listInventory();
    expect(told).toEqual([2]);
  });

  test('is reported for at most 64 endpoints', async () => {
    const { client, told } = setUp(() => true);
    const paths = Array.from({ length: 70 }, (_, index) => `/${'x'.repeat(index + 1)}`);
    await Promise.all(paths.map(async (path) => (await client.fetch(path)).text()));
    expect(told).toHaveLength(64);
  });
});
