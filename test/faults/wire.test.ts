import { expect, test } from 'vitest';
import { rejectionOf } from '../support/outcome.ts';
import { failing, ITEM, ITEMS, LIST_TEXT, lab, ok, pause } from './lab.ts';
import { head, message, type Step } from './raw-server.ts';

const POISON = '[{"petId":666,"quantity":666,"status":"sold"}]';

/** Answers and ends the connection in good order right behind it, as if it had been idle for too long. */
const okAndEnd: Step = (wire) => {
  ok(wire);
  wire.end();
};

test.concurrent.each<[string, Step]>([
  ['1xx answers', (wire) => [102, 103].map((status) => wire.write(`HTTP/1.1 ${status} Wait\r\n\r\n`)) && ok(wire)],
  ['HTTP/1.0 without a length', ({ end }) => end(`HTTP/1.0 200 OK\r\n\r\n${LIST_TEXT}`)],
  ['Connection: close', ({ end }) => end(head(200, { Connection: 'close' }) + LIST_TEXT)],
  ['one byte at a time', async ({ socket }) => void (await drip(socket, message(200, LIST_TEXT)))],
  ['no Content-Type', ({ write }) => write(`HTTP/1.1 200 OK\r\nContent-Length: ${LIST_TEXT.length}\r\n\r\n${LIST_TEXT}`)],
  ['a wrong Content-Type', ({ answer }) => answer(200, LIST_TEXT, { 'Content-Type': 'text/html; charset=latin1' })],
  ['another 2xx status', ({ answer }) => answer(203, LIST_TEXT)],
  ['chunk extensions and trailers', ({ write }) => write(chunkedWithExtras())],
  ['headers in odd cases and with odd bytes', ({ answer }) => answer(200, LIST_TEXT, { 'x-PET': 'caf\u00e9', 'X-Empty': '' })],
])('an answer with %s is read', async (_name, step) => {
  await using at = await lab([step]);
  expect(await at.client.listInventory()).toEqual(ITEMS);
  expect(at.server.requests).toHaveLength(1);
});

async function drip(socket: { write(bytes: Uint8Array): void }, bytes: Buffer): Promise<void> {
  for (const byte of bytes) {
    socket.write(Buffer.of(byte));
    if (byte === 0x0a) await pause(1);
  }
}

function chunkedWithExtras(): string {
  const size = LIST_TEXT.length.toString(16);
  return `${head(200, { 'Transfer-Encoding': 'chunked', Trailer: 'X-Sum' })}${size};a=b\r\n${LIST_TEXT}\r\n0\r\nX-Sum: 1\r\n\r\n`;
}

test.concurrent.each<[string, Step]>([
  ['no HTTP', ({ end }) => end('SSH-2.0-OpenSSH_9.6\r\n')],
  ['a status that is no number', ({ end }) => end('HTTP/1.1 abc Nope\r\nContent-Length: 2\r\n\r\n[]')],
  ['a switch of protocols', ({ end }) => end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')],
  ['an end without a word', ({ end }) => end()],
  ['an end within the headers', ({ end }) => end('HTTP/1.1 200 OK\r\nContent-Le')],
  ['a reset', ({ reset }) => reset()],
  ['100 KB of headers', ({ write }) => write(`HTTP/1.1 200 OK\r\n${`X-Pad: ${'x'.repeat(990)}\r\n`.repeat(100)}\r\n`)],
  ['two lengths that differ', ({ write }) => write(`${head(200, { 'Content-Length': 2 }).trimEnd()}\r\nContent-Length: 9\r\n\r\n[]`)],
  ['a length that is no number', ({ end }) => end(`${head(200, { 'Content-Length': 'ten' })}[]`)],
  ['a header with a NUL', ({ end }) => end(`${head(200, { 'X-Nul': 'a\0b', 'Content-Length': 2 })}[]`)],
])('after %s the request is sent again, and the change is in doubt', async (_name, step) => {
  await using list = await lab([step, ok]);
  await using update = await lab([step], { maxRetries: 0 });
  const answers = Promise.all([list.client.listInventory(), rejectionOf(update.client.updateInventory(1, { quantity: 5 }))]);
  expect(await answers).toMatchObject([ITEMS, { name: 'ConnectionError', outcome: 'unknown', attempts: 1 }]);
});

test.concurrent('no call fails because a connection was closed while idle', async () => {
  await using at = await lab([ok]);
  for (let call = 0; call < 5; call++) {
    expect(await at.client.updateInventory(1, { quantity: 5 })).toEqual(ITEM);
    at.server.dropConnections();
    await pause(call);
  }
});

test.concurrent('a request that is lost as its idle connection closes is retried', async () => {
  await using at = await lab([okAndEnd]);
  for (let call = 0; call < 20; call++) expect(await at.client.listInventory()).toEqual(ITEMS);
});

test.concurrent('an answer without a request is not taken for the answer to the next request', async () => {
  const twice: Step = (wire) => {
    ok(wire);
    wire.write(message(200, POISON));
  };
  await using at = await lab([twice, ok]);
  expect(await at.client.listInventory()).toEqual(ITEMS);
  await pause(50);
  expect(await at.client.listInventory()).toEqual(ITEMS);
});

test.concurrent('one stalled answer holds up no other call', async () => {
  const controller = new AbortController();
  const firstStalls: Step = (wire) => (wire.request.path.endsWith('/7') ? undefined : ok(wire));
  await using at = await lab([firstStalls]);
  await at.client.listInventory();
  const stalled = rejectionOf(at.client.updateInventory(7, { quantity: 1 }, { signal: controller.signal }));
  const others = Promise.all(Array.from({ length: 50 }, () => at.client.listInventory()));
  expect(await Promise.race([stalled, others])).toEqual(Array(50).fill(ITEMS));
  expect(at.log).toContain('request 1 PATCH /inventory/7');
  controller.abort('enough');
  expect(await stalled).toBe('enough');
});

const REDIRECTS = [300, 301, 302, 303, 304, 305, 307, 308].flatMap((status): [number, string | undefined][] => [
  [status, undefined],
  [status, '/v1/elsewhere'],
  [status, 'https://user:pass@evil.test/v1/inventory?key=1#x'],
  [status, 'javascript:alert(1)'],
  [status, '//evil.test\u00e9/%zz'],
]);
test('a redirect is never followed, wherever it points', async () => {
  const step: Step = ({ request, answer }) => {
    const [status, location] = REDIRECTS[Number(request.path.split('/').at(-1))] ?? [500];
    answer(status, status === 304 ? '' : 'moved', location === undefined ? {} : { Location: location });
  };
  await using at = await lab([step]);
  const errors = await Promise.all(REDIRECTS.map((_, petId) => rejectionOf(at.client.updateInventory(petId, { quantity: 5 }))));
  expect(errors).toMatchObject(REDIRECTS.map(([status]) => ({ name: 'UnexpectedStatusError', status, outcome: 'rejected', attempts: 1 })));
  expect(errors[0]).toHaveProperty('location', undefined);
  expect(errors[1]).toHaveProperty('location', `${at.server.url}/elsewhere`);
  expect(errors[2]).toHaveProperty('location', 'https://evil.test/v1/inventory');
  expect(at.server.requests).toHaveLength(REDIRECTS.length);
});

test.concurrent.each<[string, Step[], string, string]>([
  ['a reset and then a 404', [({ reset }) => reset(), failing(404)], 'NotFoundError', 'unknown'],
  ['a 429 and then a 404', [failing(429, { 'Retry-After': '0' }), failing(404)], 'NotFoundError', 'rejected'],
  ['a 503 and then a 400', [failing(503), failing(400)], 'BadRequestError', 'unknown'],
  ['a 408 and then a reset', [failing(408), ({ reset }) => reset()], 'ConnectionError', 'unknown'],
  ['two 429s', [failing(429, { 'Retry-After': '0' })], 'RateLimitError', 'rejected'],
  ['a 425 and then a 401', [failing(425), failing(401)], 'AuthenticationError', 'rejected'],
])('the outcome of an update covers all attempts: %s', async (_name, steps, name, outcome) => {
  await using at = await lab(steps, { maxRetries: 1 });
  expect(await rejectionOf(at.client.updateInventory(1, { quantity: 5 }))).toMatchObject({ name, outcome, attempts: 2 });
});

test.concurrent('an update whose connection is refused was not applied', async () => {
  const gone = await lab([ok]);
  const { client } = gone;
  await gone.server[Symbol.asyncDispose]();
  const error = await rejectionOf(client.updateInventory(1, { quantity: 5 }, { maxRetries: 1 }));
  expect(error).toMatchObject({ name: 'ConnectionError', code: 'ECONNREFUSED', outcome: 'not-sent' });
});
