import { inspect } from 'node:util';
import fc from 'fast-check';
import { isPetStoreError, type PetStoreClient } from 'petstore-inventory';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chunked } from '../support/answers.ts';
import { freshAddress, KEY, scriptedClient } from '../support/client.ts';
import { FUZZ } from '../support/fuzz.ts';
import { itemsOf } from './lab.ts';
import { RawServer, type Wire } from './raw-server.ts';

const LIST = '[{"petId":1,"quantity":2,"status":"sold"},{"petId":2,"quantity":-3,"status":"caf\u00e9"}]';
const ITEM = '{"petId":1,"quantity":2,"status":"sold"}';
const ERROR = `{"code":"no","message":"the key ${KEY} is bad","status":400}`;
const KEY_SPELLINGS = [KEY, encodeURIComponent(KEY), JSON.stringify(KEY), Buffer.from(KEY).toString('latin1'), KEY.toLowerCase()];

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
/** A good body of which a part was replaced by other bytes. */
const damaged = fc
  .tuple(fc.constantFrom(LIST, ITEM, ERROR, `<h1>${KEY}</h1>`), fc.nat(200), fc.nat(20), fc.uint8Array({ maxLength: 12 }))
  .map(([text, at, length, bytes]) => Buffer.concat([utf8(text).subarray(0, at), bytes, utf8(text).subarray(at + length)]));
const body = fc.oneof(
  fc.constantFrom(LIST, ITEM, ERROR).map(utf8),
  damaged,
  fc.uint8Array({ maxLength: 300 }),
  fc.json().map(utf8),
  fc.tuple(fc.json(), fc.constantFrom(...KEY_SPELLINGS)).map(([json, key]) => utf8(`{"code":${JSON.stringify(key)},"more":${json}}`)),
);
const printable = fc.string({ maxLength: 30, unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) });
const number = fc.oneof(fc.integer(), fc.double(), fc.bigInt(), fc.constantFrom('9'.repeat(400), '-1', '1e9', '0x10', ' 5 ')).map(String);
const date = fc.date({ noInvalidDate: true }).map((value) => value.toUTCString());
const value = fc.oneof(
  printable,
  number,
  date,
  fc.constantFrom(...KEY_SPELLINGS),
  fc.tuple(number, date).map((both) => both.join(', ')),
);
const name = fc.constantFrom('retry-after', 'date', 'location', 'content-length', 'content-encoding', 'content-type', 'x-ratelimit-limit');
const limits = fc.constantFrom('x-ratelimit-remaining', 'x-ratelimit-reset', 'age', 'x-key');
const headers = fc.array(fc.tuple(fc.oneof(name, limits), value), { maxLength: 6 });
const status = fc.oneof(fc.constantFrom(200, 200, 200, 400, 404, 429, 503, 307), fc.integer({ min: 200, max: 599 }));
const CALLS: Record<string, (client: PetStoreClient) => Promise<unknown>> = {
  list: (client) => client.listInventory(),
  update: (client) => client.updateInventory(1, { quantity: 2 }),
  stream: (client) => itemsOf(client.streamInventory()),
};
const call = fc.constantFrom('list', 'update', 'stream');
/** Nothing is tried again or waited for, so that a run takes no time. */
const AT_ONCE = { maxRetries: 0, maxWaitMs: 0, attemptTimeoutMs: 20 };

/** What a call ends with: true for a value, and for a PetStoreError that shows no key. */
async function endsWell(client: PetStoreClient, name: string): Promise<boolean> {
  const startedAt = performance.now();
  try {
    await CALLS[name]?.(client);
  } catch (error) {
    const shown = `${inspect(error, { depth: 8, showHidden: true })}${JSON.stringify(error)}${error instanceof Error ? error.stack : ''}`;
    const isShown = [KEY, encodeURIComponent(KEY)].some((key) => shown.toLowerCase().includes(key.toLowerCase()));
    if (!isPetStoreError(error) || isShown) throw error;
  }
  return performance.now() - startedAt < 2000;
}

function cut(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [0, ...cuts.map((cutAt) => cutAt % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

/** Many runs take more than the usual time. */
const SLOW = { timeout: 20_000 + 20 * FUZZ.numRuns };

const end = fc.constantFrom('close' as const, 'close' as const, 'break' as const, 'stall' as const);
test('whatever a fetch answers, a call ends in time with a value or with a PetStoreError that does not show the key', SLOW, async () => {
  const cuts = fc.array(fc.nat(), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.record({ status, headers, body, cuts, end, call }), async (told) => {
      const hasBody = ![204, 205, 304].includes(told.status);
      const answer = () =>
        new Response(hasBody ? chunked(cut(told.body, told.cuts), told.end) : null, { status: told.status, headers: told.headers });
      const { client, log } = scriptedClient([answer], AT_ONCE);
      expect(await endsWell(client, told.call)).toBe(true);
      expect(log.join()).not.toContain(KEY);
    }),
    FUZZ,
  );
});

test('whatever a fetch throws, a call ends with a PetStoreError that does not show the key', SLOW, async () => {
  const thrown = fc.oneof(fc.anything({ withNullPrototype: true, withBigInt: true }), fc.constantFrom(...KEY_SPELLINGS));
  const details = fc.dictionary(fc.constantFrom('code', 'name', 'message', 'stack', 'request', 'headers', 'cause', 'syscall'), thrown);
  const error = fc.tuple(printable, details).map(([message, more]) => Object.assign(new Error(`${message} ${KEY}`), more));
  await fc.assert(
    fc.asyncProperty(fc.oneof(thrown, error), call, async (reason, name) => {
      const { client } = scriptedClient([() => Promise.reject(reason)], AT_ONCE);
      expect(await endsWell(client, name)).toBe(true);
    }),
    FUZZ,
  );
});

let server: RawServer;
let serve: (wire: Wire) => void = () => {};
beforeAll(async () => {
  server = await RawServer.listen((wire) => serve(wire));
});
afterAll(() => server[Symbol.asyncDispose]());

test(
  'whatever bytes come over a socket, a call ends in time with a value or with a PetStoreError that does not show the key',
  SLOW,
  async () => {
    const line = fc
      .tuple(fc.oneof(name, limits, fc.constantFrom('transfer-encoding', 'connection', 'upgrade')), value)
      .map((both) => both.join(': '));
    const begin = fc.oneof(
      fc.tuple(status, fc.array(line, { maxLength: 5 })).map(([code, lines]) => [`HTTP/1.1 ${code} X`, ...lines, '', ''].join('\r\n')),
      printable,
      fc.constant('HTTP/1.1 200 OK\r\n'),
    );
    const finish = fc.constantFrom('end' as const, 'end' as const, 'reset' as const, 'stay' as const);
    await fc.assert(
      fc.asyncProperty(fc.record({ begin, body, finish, call }), async (told) => {
        serve = ({ write, end, reset }) => {
          write(Buffer.concat([Buffer.from(told.begin, 'latin1'), told.body]));
          if (told.finish === 'end') end();
          if (told.finish === 'reset') setTimeout(reset, 1);
        };
        const baseUrl = `${server.url.replace('/v1', '')}/${new URL(freshAddress()).host}/v1`;
        const { client } = scriptedClient([], { ...AT_ONCE, baseUrl, fetch: globalThis.fetch });
        expect(await endsWell(client, told.call)).toBe(true);
      }),
      { numRuns: Math.ceil(FUZZ.numRuns / 4) },
    );
  },
);
