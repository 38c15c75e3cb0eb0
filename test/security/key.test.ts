import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { PetStoreClient, type PetStoreClientOptions } from 'petstore-inventory';
import { expect, onTestFinished, test, vi } from 'vitest';
import { half, lab, silence } from '../faults/lab.ts';
import { head, type Step } from '../faults/raw-server.ts';
import { freshAddress, KEY, scriptedClient } from '../support/client.ts';
import { rejectionOf, thrownBy } from '../support/outcome.ts';

/** Everything that somebody might write down of something. */
function dump(thing: unknown): string {
  const stacks: unknown[] = [];
  for (let cause = thing; cause instanceof Error; cause = cause.cause) stacks.push(cause.stack, cause.message, String(cause));
  return [inspect(thing, { depth: 8, showHidden: true, getters: true }), JSON.stringify(thing), ...stacks].join('\n');
}

const SECRETS = [KEY, encodeURIComponent(KEY), KEY.toLowerCase()];
function expectNoKeyIn(...things: unknown[]): void {
  const dumped = things.map(dump).join('\n');
  expect(SECRETS.filter((secret) => dumped.includes(secret))).toEqual([]);
}

const errorBody = (message: string, code = 'no') => JSON.stringify({ code, message, status: 400 });
const byte = (encode: (code: number) => string) => [...KEY].map((character) => encode(character.charCodeAt(0))).join('');
const hex = (code: number) => code.toString(16).padStart(2, '0');
const long = (before: number) => 'x'.repeat(before) + KEY.repeat(3);
const linking = (address: string) => ({ Deprecation: '@1688169599', Link: `<${address}>; rel="deprecation"` });
const ECHOES: [string, Step][] = [
  ['the message of an Error body', ({ answer }) => answer(400, errorBody(`bad key ${KEY}`))],
  ['the code of an Error body', ({ answer }) => answer(401, errorBody('m', KEY))],
  [
    'a message that escapes it',
    ({ answer }) =>
      answer(
        400,
        errorBody('m').replace(
          'm',
          byte((code) => `\\u00${hex(code)}`),
        ),
      ),
  ],
  ['other fields', ({ answer }) => answer(400, JSON.stringify({ error: KEY, status: KEY }))],
  ['a page', ({ answer }) => answer(502, `<p>Authorization: Bearer ${KEY.replaceAll('=', '&#61;')}</p>`)],
  ['a page of entities', ({ answer }) => answer(502, `<p>${byte((code) => `&#x${hex(code)};`)}</p>`)],
  ['an address', ({ answer }) => answer(404, `GET /v1?key=${encodeURIComponent(KEY)}`)],
  ['an address in small letters', ({ answer }) => answer(404, encodeURIComponent(KEY).toLowerCase())],
  ['an address that was encoded again', ({ answer }) => answer(404, encodeURIComponent(encodeURIComponent(KEY)))],
  ['a text across the cut at 1 KiB', ({ answer }) => answer(500, long(1020 - KEY.length))],
  ['a text up to the cut at 1 KiB', ({ answer }) => answer(500, long(1010))],
  ['a message across the cut at 4 KiB', ({ answer }) => answer(400, errorBody(long(4090)))],
  ['a code across the cut at 4 KiB', ({ answer }) => answer(400, errorBody('m', long(4096 - 3 * KEY.length)))],
  ['a body across the cut at 64 KiB', ({ answer }) => answer(400, long(65_530))],
  ['a body with control characters within it', ({ answer }) => answer(400, errorBody(`\u0000${KEY}\u001b[0m`))],
  ['the path of a Location', ({ answer }) => answer(302, '', { Location: `https://evil.test/${KEY}/x` })],
  ['the host of a Location', ({ answer }) => answer(302, '', { Location: `https://${KEY.replace(/\W.*/, '')}.evil.test/` })],
  ['the query of a Location', ({ answer }) => answer(302, '', { Location: `/v1?key=${KEY}#${KEY}` })],
  ['the credentials of a Location', ({ answer }) => answer(302, '', { Location: `https://${encodeURIComponent(KEY)}:x@evil.test/` })],
  ['the link of a deprecation', ({ answer }) => answer(400, '', linking(`https://evil.test/${KEY}?key=${KEY}#${KEY}`))],
  ['the credentials of such a link', ({ answer }) => answer(400, '', linking(`https://${encodeURIComponent(KEY)}:x@evil.test/`))],
  ['every header', ({ answer }) => answer(429, '', { 'Retry-After': KEY, Date: KEY, 'X-RateLimit-Limit': KEY, 'WWW-Authenticate': KEY })],
  ['the status line', ({ end }) => end(`HTTP/1.1 400 ${KEY}\r\nContent-Length: 0\r\n\r\n`)],
  ['a header that is broken', ({ end }) => end(`${head(200, { [`X ${KEY}`]: KEY })}`)],
  ['a body that is no JSON', ({ answer }) => answer(200, KEY)],
  ['a body of the wrong shape', ({ answer }) => answer(200, JSON.stringify({ petId: KEY, quantity: KEY, [KEY]: KEY }))],
  ['a status that it makes up', ({ answer }) => answer(200, JSON.stringify({ petId: 2, quantity: 5, status: KEY }))],
  ['an answer that is cut', half(({ end }) => end(KEY), 400)],
];
test.concurrent.each(ECHOES)('the key is shown nowhere when the service echoes it in %s', async (_name, step) => {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const logger = { debug: write, info: write, warn: write, error: write };
  await using at = await lab([step], { maxRetries: 0, logger, attemptTimeoutMs: 1000 });
  const events: unknown[] = [];
  for (const name of ['request', 'response', 'retry', 'wait', 'gate', 'retryBudget', 'settled', 'unknownStatus', 'deprecation'] as const) {
    at.client.on(name, (event) => events.push(event));
  }
  const error = await rejectionOf(at.client.updateInventory(1, { quantity: 5 }));
  expectNoKeyIn(error, events, lines, at.log, at.client);
  expect(events.length).toBeGreaterThanOrEqual(2);
});

test.concurrent('an unknown status is announced without the key and without terminal control characters', async () => {
  const status = `\u001b[31m${KEY}\n2026-11-21 FORGED LINE`;
  await using at = await lab([({ answer }) => answer(200, JSON.stringify({ petId: 1, quantity: 5, status }))]);
  expect(await at.client.updateInventory(1, { quantity: 5 })).toMatchObject({ status });
  expect(at.log).toContain('unknownStatus [31m*** 2026-11-21 FORGED LINE');
});

test.concurrent('the key is shown nowhere in a timeout, an abort or a refused connection', async () => {
  await using at = await lab([silence], { attemptTimeoutMs: 100, maxRetries: 0 });
  const timeout = await rejectionOf(at.client.listInventory());
  const aborted = await rejectionOf(at.client.listInventory({ signal: AbortSignal.timeout(20) }));
  await at.server[Symbol.asyncDispose]();
  expectNoKeyIn(timeout, aborted, await rejectionOf(at.client.updateInventory(1, { quantity: 5 })), at.log);
});

test.each<[string, string, unknown[]]>([
  ['the address', 'fetch', [`https://elsewhere.test/v1/${KEY}`]],
  ['an address that is long', 'fetch', [`https://elsewhere.test/v1/${'x'.repeat(35)}${KEY}`]],
  ['a field of an init that fetch refuses', 'fetch', ['/x', { mode: 'navigate', [KEY]: 1 }]],
  ['place of the options', 'listInventory', [KEY]],
  ['an option', 'listInventory', [{ priority: KEY }]],
  ['the name of an option', 'listInventory', [{ [KEY]: 1 }]],
  ['the name of a header', 'listInventory', [{ headers: { [`authorization: bearer ${KEY}`]: '' } }]],
  ['place of the pet', 'updateInventory', [KEY, { quantity: 1 }]],
  ['place of the update', 'updateInventory', [1, KEY]],
])('the key is shown nowhere when a caller gives it in %s', async (_where, method, given) => {
  const { client, log } = scriptedClient([() => new Response('[]')]);
  const error = await rejectionOf(Reflect.apply(Reflect.get(client, method), client, given));
  expectNoKeyIn(error, log);
  expect(dump(error)).not.toContain(KEY.slice(0, 12));
});

test.each<[string, string, (key: string) => unknown[]]>([
  ['the options', 'listInventory', (key) => [key]],
  ['an option', 'listInventory', (key) => [{ priority: key }]],
  ['a pet', 'updateInventory', (key) => [key, { quantity: 1 }]],
  ['an update', 'updateInventory', (key) => [1, key]],
  ['a signal', 'fetch', (key) => ['/x', { signal: key }]],
])('a key that is longer than what is shown of a value is not shown in place of %s', async (_where, method, given) => {
  const apiKey = `psk_${'a'.repeat(200)}`;
  const { client } = scriptedClient([() => new Response('[]')], { apiKey });
  expect(dump(await rejectionOf(Reflect.apply(Reflect.get(client, method), client, given(apiKey))))).not.toContain('psk_');
});

test.each<Record<string, unknown>>([
  { headers: { [`authorization: bearer ${KEY}`]: '' } },
  { headers: `Authorization: Bearer ${KEY}` },
  { plan: KEY },
  { environment: KEY },
  { logger: KEY },
  { [KEY]: 1 },
])('the key is not shown when the constructor gets it in another option (%#)', (options) => {
  expectNoKeyIn(thrownBy(() => new PetStoreClient({ apiKey: KEY, baseUrl: freshAddress(), ...options })));
});

test('the key of a file is not shown when an option or an argument is it too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-key-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'key');
  writeFileSync(path, `${KEY}\n`);
  vi.stubEnv('PETSTORE_API_KEY_FILE', path);
  onTestFinished(() => void vi.unstubAllEnvs());
  const baseUrl = freshAddress();
  const bad: Record<string, unknown> = { plan: KEY };
  expectNoKeyIn(thrownBy(() => new PetStoreClient({ baseUrl, ...bad })));
  const client = new PetStoreClient({ baseUrl });
  expectNoKeyIn(await rejectionOf(client.updateInventory(1, JSON.parse(JSON.stringify({ quantity: KEY })))));
  expectNoKeyIn(thrownBy(() => Reflect.apply(client.on, client, [KEY, () => {}])));
});

test.each(['sk_live_abcdef?ghijklmnop', 'sk_live@abcdefghijklmnop', 'sk_live#abcdefghijklmnop'])(
  'a key of which a part looks like a part of an address (%s) is not shown as one',
  async (apiKey) => {
    const address = `https://elsewhere.test/${apiKey}`;
    const { client } = scriptedClient([() => new Response('[]')], { apiKey });
    const errors = [await rejectionOf(client.fetch(address)), thrownBy(() => new PetStoreClient({ apiKey, baseUrl: address }))];
    expect(errors.map(dump).join('\n')).not.toMatch(/sk_live|ghijklm/);
  },
);

test('the key of a variable is not shown when another variable is it too', () => {
  vi.stubEnv('PETSTORE_API_KEY', KEY).stubEnv('PETSTORE_PLAN', KEY);
  onTestFinished(() => void vi.unstubAllEnvs());
  expectNoKeyIn(thrownBy(() => new PetStoreClient({ baseUrl: freshAddress() })));
});

const header = { authorization: `Bearer ${KEY}` };
test.each<[string, unknown]>([
  ['quotes the key', new TypeError(`Headers.append: "Bearer ${KEY}" is an invalid header value`)],
  ['hangs the request onto itself', Object.assign(new Error('x'), { request: new Request('https://x.test', { headers: header }) })],
  [
    'hangs options onto its cause',
    new TypeError('fetch failed', { cause: Object.assign(new Error('y'), { config: { headers: header } }) }),
  ],
  ['has the key as its name and code', Object.assign(new Error(KEY), { name: KEY, code: KEY })],
  ['has many causes', new AggregateError([Object.assign(new Error(KEY), header), new Error(KEY)], KEY)],
  ['is the key', KEY],
  ['is an object of headers', header],
  [
    'writes the key over many lines of its stack',
    Object.assign(new Error('x'), { stack: `Error: x\n  Bearer ${KEY}\n    at ${KEY} (file.js:1:1)` }),
  ],
])('the key is shown nowhere when a fetch throws what %s', async (_name, thrown) => {
  const { client, log } = scriptedClient([() => Promise.reject(thrown)], { maxRetries: 0 });
  expectNoKeyIn(await rejectionOf(client.listInventory()), log);
});

test('a client shows no key, however it is printed', () => {
  const client = new PetStoreClient({ apiKey: KEY, baseUrl: freshAddress() });
  expectNoKeyIn(client, client.streamInventory(), client.quota);
  const dynamic = new PetStoreClient({ apiKey: () => KEY, baseUrl: freshAddress() });
  expectNoKeyIn(dynamic);
});

test.each(['psk_\r\nX-Evil: 1', 'psk_\n', 'psk a', '\u0000psk', 'Bearer psk', 'ps\u212a', 'psk\u00a0', '\tpsk'])(
  'a key that is not visible ASCII (%j) is refused without being shown',
  (apiKey) => {
    const error = thrownBy(() => new PetStoreClient({ apiKey, baseUrl: freshAddress() }));
    expect(error).toMatchObject({ name: 'ConfigurationError', option: 'apiKey' });
    expect(dump(error)).not.toContain(JSON.stringify(apiKey).slice(1, -1));
  },
);

test.each(['https://shop.example/v1', 'HTTPS://SHOP.EXAMPLE/v1'])(
  'key and address %s that were swapped are refused without showing the key',
  (apiKey) => {
    const error = thrownBy(() => new PetStoreClient({ apiKey, baseUrl: KEY }));
    expect(error).toMatchObject({ name: 'ConfigurationError', option: 'apiKey', message: expect.stringContaining('or an address') });
    expectNoKeyIn(error);
  },
);

test.each<Record<string, string>>([
  { 'x-a': 'b\r\nX-Evil: 1' },
  { 'x-a': 'b\u0000' },
  { 'x-a\r\nX-Evil': '1' },
  { 'x a': '1' },
  { '': '1' },
  { 'x-a:': '1' },
  { 'x-a': '\u20ac' },
  { Authorization: 'Bearer other' },
  { aUTHORIZATION: 'Bearer other' },
  { 'Proxy-Authorization': 'x' },
  { Host: 'evil.test' },
  { 'Transfer-Encoding': 'chunked' },
  { 'content-LENGTH': '0' },
])("headers that would split a message or replace the client's own (%j) are refused", async (headers) => {
  expect(thrownBy(() => new PetStoreClient({ apiKey: KEY, baseUrl: freshAddress(), headers }))).toMatchObject({ option: 'headers' });
  const { client, seen } = scriptedClient([() => new Response('[]')]);
  const error = await rejectionOf(client.updateInventory(1, { quantity: 1 }, { headers }));
  expect(error).toMatchObject({ name: 'ConfigurationError', option: 'headers', outcome: 'not-sent', petId: 1 });
  expect(seen).toEqual([]);
});

test.each([
  '../x',
  '1/../../evil',
  '1?x=1',
  '1#',
  '1%2f..',
  '1 ',
  '',
  '0x1',
  1.5,
  Number.NaN,
  2 ** 53,
  2n ** 63n,
  null,
  [1],
  { toString: () => '1' },
])('a petId that is not an int64 (%o) reaches no path', async (petId) => {
  const { client, seen } = scriptedClient([() => new Response('[]')]);
  const update = Reflect.get(client, String('updateInventory'));
  const error = await rejectionOf(Reflect.apply(update, client, [petId, { quantity: 1 }]));
  expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'petId', outcome: 'not-sent' });
  expect(seen).toEqual([]);
});

test('a field `__proto__` of bodies and options changes no prototype', async () => {
  const poison = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"petId":1,"quantity":2,"status":"sold"}';
  const poisoned: PetStoreClientOptions = JSON.parse('{"__proto__":{"polluted":1,"maxRetries":99}}');
  expect(() => scriptedClient([], poisoned)).toThrow('Cannot use `__proto__` as an option');
  const options: PetStoreClientOptions = JSON.parse('{"headers":{"__proto__":"x"}}');
  const { client } = scriptedClient(
    [() => new Response(poison), () => new Response(`[${poison}]`), () => new Response(poison, { status: 400 })],
    options,
  );
  const item = { petId: 1, quantity: 2, status: 'sold' };
  expect(Reflect.ownKeys(await client.updateInventory(1, { quantity: 2 }))).toEqual(Object.keys(item));
  expect(await client.listInventory()).toEqual([item]);
  expect(await rejectionOf(client.updateInventory(1, { quantity: 2 }))).toMatchObject({ name: 'BadRequestError' });
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
});
