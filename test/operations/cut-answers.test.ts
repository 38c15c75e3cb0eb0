import type { PetStoreClient } from 'petstore-inventory';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { text } from '../support/answers.ts';
import { scriptedClient } from '../support/client.ts';
import { drain } from '../support/drain.ts';
import { rejectionOf } from '../support/outcome.ts';

const LONG_LIST = `[${'{"petId":1,"quantity":1,"status":"sold"},'.repeat(30_000)}`;
const GZIP = { 'content-encoding': 'gzip' };
const ONCE = { maxRetries: 0 };

const list = (client: PetStoreClient) => client.listInventory(ONCE);
const stream = (client: PetStoreClient) => drain(client.streamInventory(ONCE)).then(({ error }) => Promise.reject(error));
const update = (client: PetStoreClient) => client.updateInventory(42, { quantity: 1 }, ONCE);

const CUT: [string, (client: PetStoreClient) => Promise<unknown>, string][] = [
  ['a list', list, '[{"petId":1,'],
  ['a list of more than 1 MiB', list, LONG_LIST],
  ['a stream', stream, '[{"petId":1,'],
  ['an item', update, '{"petId":42,'],
];

describe('An answer that ends too early', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test.each(CUT)('is a broken connection if it is compressed, and its length is not known: %s', async (_what, call, body) => {
    const { client } = scriptedClient([() => text(200, body, GZIP)]);
    expect(await rejectionOf(call(client))).toMatchObject({ kind: 'connection', code: 'ERR_BODY_CUT_OFF' });
  });

  test.each([
    ['a list', list, '[{"petId":42,"quantity":1,"status":"perché'],
    ['an item', update, '{"petId":42,"quantity":1,"status":"perché'],
  ])('is a broken connection if it is compressed, even if it ends within a character: %s', async (_what, call, body) => {
    const { client } = scriptedClient([() => new Response(new TextEncoder().encode(body).slice(0, -1), { headers: GZIP })]);
    expect(await rejectionOf(call(client))).toMatchObject({ kind: 'connection', code: 'ERR_BODY_CUT_OFF' });
  });

  test.each(CUT)('is an invalid answer if it is not compressed: %s', async (_what, call, body) => {
    const { client } = scriptedClient([() => text(200, body)]);
    expect(await rejectionOf(call(client))).toMatchObject({ kind: 'invalid-response', reason: 'invalid-json' });
  });

  test.each([
    ['a list', list],
    ['a stream', stream],
    ['an item', update],
  ])('is an invalid answer, even if it says that it is compressed, if its length is 0: %s', async (_what, call) => {
    const { client } = scriptedClient([() => text(200, '', { ...GZIP, 'content-length': '0' })]);
    expect(await rejectionOf(call(client))).toMatchObject({ kind: 'invalid-response', reason: 'invalid-json' });
  });

  test.each(CUT)('is a broken connection in a browser, if its length is not known: %s', async (_what, call, body) => {
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15' });
    const { client } = scriptedClient([() => text(200, body)], { dangerouslyAllowBrowser: true });
    expect(await rejectionOf(call(client))).toMatchObject({ kind: 'connection', code: 'ERR_BODY_CUT_OFF' });
  });

  test.each(CUT)('is an invalid answer in a browser, if its length is known: %s', async (_what, call, body) => {
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15' });
    const length = { 'content-length': String(body.length) };
    const { client } = scriptedClient([() => text(200, body, length)], { dangerouslyAllowBrowser: true });
    expect(await rejectionOf(call(client))).toMatchObject({ kind: 'invalid-response', reason: 'invalid-json' });
  });

  test.each([
    ['a list', 204, list],
    ['a stream', 204, stream],
    ['an item', 204, update],
    ['an item', 205, update],
  ])('is an invalid answer in a browser, if its status has no body: %s, %i', async (_what, status, call) => {
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15' });
    const { client } = scriptedClient([() => text(status, null)], { dangerouslyAllowBrowser: true });
    expect(await rejectionOf(call(client))).toMatchObject({ kind: 'invalid-response', status });
  });
});

test.each([
  ['a list that is no JSON', list, '[{"petId":}', 'invalid-json'],
  ['a list that is no list', list, '{}', 'schema'],
  ['a long list that is no JSON', list, `${LONG_LIST}]]`, 'invalid-json'],
  ['a stream that is no JSON', stream, '[{"petId":}', 'invalid-json'],
  ['an item that is no JSON', update, '{"petId":}', 'invalid-json'],
  ['another item', update, '{"petId":43,"quantity":1,"status":"sold"}', 'mismatch'],
])('%s is an invalid answer although it is compressed', async (_what, call, body, reason) => {
  const { client } = scriptedClient([() => text(200, body, GZIP)]);
  expect(await rejectionOf(call(client))).toMatchObject({ kind: 'invalid-response', reason });
});
