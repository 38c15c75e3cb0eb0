import { format, inspect } from 'node:util';
import { type Logger, PetStoreClient } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { failure, item, json } from './support/answers.ts';
import { freshAddress, KEY, logOf, scriptedClient } from './support/client.ts';
import { rejectionOf, thrower, thrownBy } from './support/outcome.ts';
import { hang, scriptedFetch } from './support/scripted-fetch.ts';
import { holdTime, NOW_MS } from './support/time.ts';
import { nextTurn, watchUnhandled } from './support/unhandled.ts';

holdTime();

const unhandled = watchUnhandled();

/** A promise of a library, which reports an unhandled rejection as Node does. */
function foreignRejection(): object {
  const rejection = Promise.reject(new Error('made up'));
  const then: typeof rejection.then = (onValue, onReason) => rejection.then(onValue, onReason);
  return Object.defineProperty({}, 'then', { value: then });
}

function loggerOf(write: (line: string) => unknown): Logger {
  return { debug: write, info: write, warn: write, error: write };
}

/** A logger whose methods can be read when the client is made, and throw when they are read again. */
function oneTimeLogger(): Logger {
  const looked = new Set<string | symbol>();
  return new Proxy(
    loggerOf(() => {}),
    {
      get: (target, name) => (looked.has(name) ? thrower() : looked.add(name) && Reflect.get(target, name)),
    },
  );
}

test('a client works in a program that has replaced the global Promise, as zone.js does', async () => {
  vi.stubGlobal('Promise', class extends Promise<unknown> {});
  onTestFinished(() => void vi.unstubAllGlobals());
  const tooMany = () => failure(429, { 'retry-after': '2' });
  const { client, log } = scriptedClient([() => item(1, 5), tooMany, () => json(200, [])], { plan: { requestsPerMinute: 2 } });
  expect(await client.updateInventory(1, { quantity: 5 })).toMatchObject({ quantity: 5 });
  const listing = client.listInventory();
  await vi.runAllTimersAsync();
  expect(await listing).toEqual([]);
  expect(log.filter((line) => line.startsWith('response'))).toEqual(['response 200', 'response 429', 'response 200']);
});

describe('a call', () => {
  const limits = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '30', 'x-request-id': 'r1' };

  test('resolves with the data', async () => {
    const { client, seen } = scriptedClient([() => item(42, 12)]);
    expect(await client.updateInventory(42, { quantity: 12 })).toEqual({ petId: 42, quantity: 12, status: 'available' });
    expect(seen).toHaveLength(1);
  });

  test('gives the whole reply with withResponse(): one request in all', async () => {
    const { client, seen } = scriptedClient([() => failure(429, { 'retry-after': '2' }), () => json(200, [], limits)]);
    const call = client.listInventory();
    const replies = Promise.all([call, call.withResponse(), call.withResponse()]);
    await vi.runAllTimersAsync();
    const [data, reply, again] = await replies;
    expect(reply).toEqual({
      data,
      status: 200,
      headers: expect.any(Headers),
      rateLimit: { limit: 60, remaining: 59, resetAt: expect.any(Date) },
      attempts: 2,
      waitedMs: expect.any(Number),
    });
    expect([reply.headers.get('x-request-id'), reply.waitedMs >= 2_000, again === reply, seen.length]).toEqual(['r1', true, true, 2]);
  });

  test.each([
    {},
    { 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '30' },
    { 'x-ratelimit-limit': '60', 'x-ratelimit-reset': '30' },
    { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59' },
  ])('gives a reply without `rateLimit` if a part of it is missing: %o', async (headers) => {
    const { client } = scriptedClient([() => json(200, [], headers)]);
    const reply = await client.listInventory().withResponse();
    expect(reply).toMatchObject({ attempts: 1, waitedMs: 0 });
    expect(reply).not.toHaveProperty('rateLimit');
  });

  test('leaves no promise unhandled if only the data is awaited', async () => {
    const { client } = scriptedClient([() => failure(404)]);
    await expect(client.listInventory()).rejects.toThrow('404');
    await nextTurn();
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('leaves no promise unhandled if only the reply is awaited', async () => {
    const { client } = scriptedClient([() => failure(404)]);
    await expect(client.listInventory().withResponse()).rejects.toThrow('404');
    await expect(client.updateInventory(1.5, { quantity: 1 }).withResponse()).rejects.toThrow('petId');
    await nextTurn();
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('leaves no promise unhandled if the data is awaited after withResponse(), and the reply later or never', async () => {
    const { client } = scriptedClient([() => failure(404)]);
    const listing = client.listInventory();
    const reply = listing.withResponse();
    await expect(listing).rejects.toThrow('404');
    await nextTurn();
    await expect(reply).rejects.toThrow('404');
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('is reported as unhandled if its failure is not awaited at all', async () => {
    const { client } = scriptedClient([() => failure(404)]);
    void client.listInventory();
    await nextTurn();
    expect(unhandled).toHaveBeenCalledOnce();
  });

  test.each([{ maxRetries: -1 }, { priority: 'high' }, { signal: {} }, { headers: { authorization: 'x' } }, 'low'])(
    'rejects with a ConfigurationError for the options %o, nothing sent',
    async (options) => {
      const { client, seen } = scriptedClient([() => item(42)]);
      const call = Reflect.apply(client.updateInventory, client, [42, { quantity: 1 }, options]);
      expect(await rejectionOf(call)).toMatchObject({ kind: 'configuration', name: 'ConfigurationError' });
      expect(seen).toHaveLength(0);
    },
  );

  test('goes to the address that `baseUrl` shows, without a trailing slash', () => {
    expect(new PetStoreClient({ apiKey: KEY, baseUrl: 'https://pets.example/v1/' }).baseUrl).toBe('https://pets.example/v1');
  });

  test("takes its own options before the client's", async () => {
    const { client, seen } = scriptedClient([() => failure(500)], { maxRetries: 3, headers: { 'x-team': 'client', 'x-b': '1' } });
    await rejectionOf(client.listInventory({ maxRetries: 0, headers: { 'X-Team': 'call' } }));
    expect(seen.map(({ headers }) => headers)).toMatchObject([{ 'x-team': 'call', 'x-b': '1' }]);
  });

  test('is sent to the address that the environment names, and only there', async () => {
    const { fetch, seen } = scriptedFetch(() => json(200, []));
    const baseUrl = { production: freshAddress(), staging: freshAddress() };
    await new PetStoreClient({ apiKey: KEY, baseUrl, environment: 'staging', fetch }).listInventory();
    await new PetStoreClient({ apiKey: KEY, baseUrl, fetch }).listInventory();
    expect(seen.map(({ url }) => url)).toEqual([`${baseUrl.staging}/inventory`, `${baseUrl.production}/inventory`]);
  });
});

test('an error of bad options says that an update was not sent, and of which pet', async () => {
  const { client, seen } = scriptedClient([hang]);
  const update = await rejectionOf(client.updateInventory(42, { quantity: 1 }, { maxRetries: -1 }));
  const list = await rejectionOf(client.listInventory({ maxRetries: -1 }));
  const failed = { kind: 'configuration', option: 'maxRetries' };
  expect(update).toMatchObject({ ...failed, operation: 'updateInventory', petId: 42, outcome: 'not-sent' });
  expect(list).toMatchObject({ ...failed, operation: 'listInventory', petId: undefined, outcome: undefined });
  expect(seen).toEqual([]);
});

describe('a listener', () => {
  test.each([
    ['an event that there is not', ['nothing', () => {}], 'event', 'Cannot use "nothing" as `event`: the events are'],
    [
      'a value that is no function',
      ['request', undefined],
      'listener',
      'Cannot use this as `listener`: it must be a function, not undefined',
    ],
  ])('is refused for %s', (_what, given, argument, message) => {
    const { client } = scriptedClient([]);
    const refused = { kind: 'invalid-argument', argument, message: expect.stringContaining(message) };
    expect(thrownBy(() => Reflect.apply(client.on, client, given))).toMatchObject(refused);
  });

  test.each([
    ['respone', '"respone"'],
    ['wait\n\u001b[2J', '"wait\\n\\u001b[2J"'],
  ])('for the misspelt event %j is told that name and the known ones, on one line', (name, shown) => {
    const { client } = scriptedClient([]);
    const message = `Cannot use ${shown} as \`event\`: the events are started, request, response,`;
    expect(() => Reflect.apply(client.on, client, [name, () => {}])).toThrow(message);
  });

  test('that throws does not affect a call', async () => {
    const { client } = scriptedClient([() => failure(429), () => json(200, [{ petId: 1, quantity: 1, status: 'new' }])]);
    const throwing = vi.fn(() => {
      throw new Error('a listener failed');
    });
    const names = ['request', 'response', 'retry', 'wait', 'gate', 'settled', 'unknownStatus'] as const;
    names.map((name) => client.on(name, throwing));
    const items = client.listInventory();
    await vi.runAllTimersAsync();
    expect(await items).toHaveLength(1);
    expect(throwing.mock.calls.length).toBeGreaterThanOrEqual(names.length);
    await nextTurn();
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('whose promise rejects later affects neither call nor process, whatever library the promise is from', async () => {
    const { client } = scriptedClient([() => json(200, [])]);
    client.on('request', async () => {
      throw new Error('a listener failed');
    });
    client.on('request', () => foreignRejection());
    client.on('request', () => Object.defineProperty({}, 'then', { get: thrower }));
    expect(await client.listInventory()).toEqual([]);
    await nextTurn();
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('that changes its event changes neither those of others nor the log', async () => {
    const lines: string[] = [];
    const { client } = scriptedClient([() => json(200, [])], { logger: loggerOf((line) => lines.push(line)) });
    const outcomes: unknown[] = [];
    client.on('settled', (event) => Object.assign(event, { outcome: 'changed', callId: 7 }));
    client.on('settled', ({ callId, outcome }) => outcomes.push([callId, outcome]));
    await client.listInventory();
    expect(outcomes).toEqual([[1, 'succeeded']]);
    expect(lines.at(-1)).toBe('petstore-inventory: list the inventory ends after 0 s: succeeded (call 1)');
  });

  test('gets no event after it has unsubscribed', async () => {
    const { client } = scriptedClient([() => json(200, [])]);
    const listener = vi.fn();
    const end = client.on('settled', listener);
    await client.listInventory();
    end();
    await client.listInventory();
    expect(listener).toHaveBeenCalledOnce();
  });

  test('may make another call', async () => {
    const { client, seen } = scriptedClient([() => json(200, [])]);
    const second = new Promise((resolve) => {
      const end = client.on('settled', () => {
        end();
        resolve(client.listInventory());
      });
    });
    await client.listInventory();
    await second;
    expect(seen).toHaveLength(2);
  });
});

describe('a logger', () => {
  test('gets every event on one line, and never the key', async () => {
    const lines: string[] = [];
    const at = (level: string) => (line: string) => lines.push(`${level} ${line}`);
    const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
    const echoing = () => failure(404, { 'x-key': KEY });
    const { client } = scriptedClient([() => failure(429), echoing], { logger });
    const rejection = rejectionOf(client.updateInventory(42, { quantity: 1 }));
    await vi.runAllTimersAsync();
    await rejection;
    expect(lines.map((line) => line.replace(/: Cannot .*\(/, ': ... ('))).toEqual([
      'debug petstore-inventory: update pet 42 begins (call 1)',
      'debug petstore-inventory: update pet 42 sends attempt 1: PATCH /inventory/42 (call 1)',
      'debug petstore-inventory: update pet 42 is answered 429 after 0 s (call 1)',
      'info petstore-inventory: update pet 42 finds the gate closed until 2026-11-21T10:00:01.000Z (call 1)',
      'warn petstore-inventory: update pet 42 is tried again in 1 s: ... (call 1)',
      'debug petstore-inventory: update pet 42 waits 1 s for rate-limit (call 1)',
      'debug petstore-inventory: update pet 42 sends attempt 2: PATCH /inventory/42 (call 1)',
      'debug petstore-inventory: update pet 42 is answered 404 after 0 s (call 1)',
      'info petstore-inventory: update pet 42 finds the gate open (call 1)',
      'debug petstore-inventory: update pet 42 ends after 1 s: rejected, NotFoundError: ... (call 1)',
    ]);
    expect(lines.join('\n')).not.toContain(KEY);
    expect(lines.join('').includes('\n')).toBe(false);
  });

  test('never shows a key that the service puts into a status', async () => {
    const lines: string[] = [];
    const tell = (line: string) => lines.push(line);
    const logger = { debug: tell, info: tell, warn: tell, error: tell };
    const { client } = scriptedClient([() => json(200, [{ petId: 1, quantity: 1, status: `x ${KEY}\nfaked line` }])], { logger });
    await client.listInventory();
    expect(lines).toContain('petstore-inventory: list the inventory finds the unknown status x *** faked line (call 1)');
  });

  test.each<[string, Logger]>([
    ['throws', loggerOf(thrower)],
    ['rejects later', loggerOf(async () => thrower())],
    ['gives a promise of another make that rejects', loggerOf(foreignRejection)],
    ['has methods that can be had once', oneTimeLogger()],
  ])('that %s affects neither call nor process', async (_what, logger) => {
    const { client } = scriptedClient([() => failure(429), () => json(200, [])], { logger });
    const items = client.listInventory();
    await vi.runAllTimersAsync();
    expect(await items).toEqual([]);
    await nextTurn();
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('that rejects later does not end the process, even for a warning that belongs to no call', async () => {
    const baseUrl = freshAddress();
    new PetStoreClient({ apiKey: KEY, baseUrl, plan: 'pro' });
    new PetStoreClient({ apiKey: KEY, baseUrl, plan: 'free', logger: loggerOf(async () => thrower()) });
    await nextTurn();
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('is warned if a second client has other settings for the same key and address', () => {
    const baseUrl = freshAddress();
    const warn = vi.fn();
    const logger = { debug: () => {}, info: () => {}, warn, error: () => {} };
    new PetStoreClient({ apiKey: KEY, baseUrl, plan: 'pro' });
    new PetStoreClient({ apiKey: KEY, baseUrl, plan: 'free', logger });
    expect(warn.mock.calls.flat()).toEqual([
      expect.stringMatching(/^petstore-inventory: another client uses this address and key with another plan/),
    ]);
  });
});

describe('quota', () => {
  const untouched = { limit: undefined, remaining: undefined, resetAt: undefined };

  test('gives the limits of the plan before the first request', () => {
    const { client } = scriptedClient([], { plan: 'pro' });
    expect(client.quota).toEqual({
      minute: { limit: 300, remaining: 300, resetAt: undefined },
      day: { limit: 10_000, remaining: 10_000, resetAt: undefined },
      closedUntil: undefined,
    });
    expect(scriptedClient([], { plan: 'unlimited' }).client.quota).toEqual({ minute: untouched, day: untouched, closedUntil: undefined });
  });

  test('gives what the headers said, with dates', async () => {
    const sandbox = createSandbox({ pets: 1 });
    const client = new PetStoreClient({ apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, plan: 'free' });
    await client.listInventory();
    expect(client.quota).toMatchObject({
      minute: { limit: 60, remaining: 59, resetAt: new Date(NOW_MS + 60_000) },
      day: { limit: 1_000, remaining: 999 },
      closedUntil: undefined,
    });
  });

  test('says until when the key is closed', async () => {
    const { client } = scriptedClient([() => failure(429, { 'retry-after': '30' })], { maxRetries: 0 });
    const error = await rejectionOf(client.listInventory());
    expect(client.quota.closedUntil).toEqual(new Date(NOW_MS + 30_000));
    expect(error).toMatchObject({ retryAt: client.quota.closedUntil });
    await vi.advanceTimersByTimeAsync(30_001);
    expect(client.quota.closedUntil).toBeUndefined();
  });
});

describe('a gate', () => {
  const refusing = () => scriptedFetch(() => failure(429, { 'retry-after': '30' })).fetch;

  test('belongs to an address and a key: another client finds it closed', async () => {
    const baseUrl = freshAddress();
    const clientOf = (apiKey: string, address: string) =>
      new PetStoreClient({ apiKey, baseUrl: address, fetch: refusing(), maxRetries: 0 });
    await rejectionOf(clientOf('psk_1', baseUrl).listInventory());
    const closed = [clientOf('psk_1', `${baseUrl}/`), clientOf('psk_2', baseUrl), clientOf('psk_1', freshAddress())];
    expect(closed.map(({ quota }) => quota.closedUntil !== undefined)).toEqual([true, false, false]);
  });

  test('belongs to an address and a function if a function gives the key', async () => {
    const baseUrl = freshAddress();
    const [one, other] = [async () => 'psk_1', async () => 'psk_1'];
    const clientOf = (apiKey: () => Promise<string>) => new PetStoreClient({ apiKey, baseUrl, fetch: refusing(), maxRetries: 0 });
    await rejectionOf(clientOf(one).listInventory());
    expect([clientOf(one), clientOf(other)].map(({ quota }) => quota.closedUntil !== undefined)).toEqual([true, false]);
  });

  test('outlives its client: a closed key stays closed for the next one, which sends nothing', async () => {
    const options = { apiKey: KEY, baseUrl: freshAddress(), maxRetries: 0, maxWaitMs: 1_000 };
    const first = new PetStoreClient({ ...options, fetch: refusing() });
    await rejectionOf(first.listInventory());
    first.close();
    const { fetch, seen } = scriptedFetch(() => json(200, []));
    const next = new PetStoreClient({ ...options, fetch });
    expect(await rejectionOf(next.listInventory())).toMatchObject({ name: 'RateLimitError', status: undefined, attempts: 0 });
    expect(seen).toHaveLength(0);
  });
});

describe('close()', () => {
  test('ends the calls that wait or are in flight, and refuses later ones, with an AbortError', async () => {
    const { client, seen, log } = scriptedClient([hang]);
    const rejections = [
      rejectionOf(client.updateInventory(42, { quantity: 1 })),
      rejectionOf(client.updateInventory(42, { quantity: 2 })),
      rejectionOf(client.listInventory()),
    ];
    await vi.advanceTimersByTimeAsync(0);
    client.close();
    client.close();
    rejections.push(rejectionOf(client.listInventory()));
    expect(await Promise.all(rejections)).toMatchObject(Array(4).fill({ name: 'AbortError' }));
    expect((await Promise.all(rejections)).every((reason) => reason instanceof DOMException)).toBe(true);
    expect([seen.length, vi.getTimerCount()]).toEqual([1, 0]);
    expect(log.filter((line) => line.startsWith('settled')).sort()).toEqual([
      'settled not-sent 0',
      'settled not-sent 0',
      'settled not-sent 0',
      'settled unknown 0',
    ]);
  });

  test('is what `await using` does at the end', async () => {
    const { client } = scriptedClient([hang]);
    const rejection = await (async () => {
      await using own = client;
      return { of: rejectionOf(own.listInventory()) };
    })();
    expect(await rejection.of).toMatchObject({ name: 'AbortError' });
  });

  test('leaves other clients of the same key alone', async () => {
    const sandbox = createSandbox({ pets: 1 });
    const options = { apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch };
    const [one, other] = [new PetStoreClient(options), new PetStoreClient(options)];
    one.close();
    expect(await other.listInventory()).toHaveLength(1);
  });

  test('counts once, however often it is called: the plan of another client of the key still holds for the next one', () => {
    const options = { apiKey: KEY, baseUrl: freshAddress(), plan: 'free' } as const;
    const [one, other] = [new PetStoreClient(options), new PetStoreClient(options)];
    one.close();
    one.close();
    new PetStoreClient({ ...options, plan: 'business' });
    expect(other.quota.minute.limit).toBe(60);
  });
});

describe('what a client started', () => {
  test('is nothing before its first call, and nothing after its last: the process may exit', async () => {
    const { client } = scriptedClient([() => failure(500), () => json(200, [])], { totalTimeoutMs: 60_000 });
    expect(vi.getTimerCount()).toBe(0);
    const items = client.listInventory();
    await vi.advanceTimersByTimeAsync(100);
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    await vi.advanceTimersByTimeAsync(400);
    await items;
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a client on the whole service', () => {
  test('reads and changes the stock', async () => {
    const sandbox = createSandbox({ pets: [{ petId: 42, quantity: 3 }] });
    const client = new PetStoreClient({ apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch });
    expect(await client.updateInventory(42, { quantity: 12 })).toEqual({ petId: 42, quantity: 12, status: 'available' });
    expect(await client.listInventory()).toEqual([{ petId: 42, quantity: 12, status: 'available' }]);
  });

  test('gets an error for a pet that the service does not have', async () => {
    const sandbox = createSandbox();
    const client = new PetStoreClient({ apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch });
    expect(await rejectionOf(client.updateInventory(999, { quantity: 1 }))).toMatchObject({
      name: 'NotFoundError',
      code: 'pet_missing',
      petId: 999,
      outcome: 'rejected',
      rateLimit: { limit: 60, remaining: 59 },
    });
  });

  test('gets an error for a key that the service does not know', async () => {
    const sandbox = createSandbox();
    const client = new PetStoreClient({ apiKey: 'psk_nobody', baseUrl: sandbox.baseUrl, fetch: sandbox.fetch });
    const log = logOf(client);
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'AuthenticationError', code: 'invalid_key', attempts: 1 });
    expect(log).toEqual(['request 1 GET /inventory', 'response 401', 'settled rejected 0']);
  });

  test('distinguishes ids that are equal as doubles', async () => {
    const ids = [9_007_199_254_740_992n, 9_007_199_254_740_993n];
    const sandbox = createSandbox({ pets: ids.map((petId) => ({ petId, quantity: 1 })) });
    const client = new PetStoreClient({ apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, int64: 'bigint' });
    const updates = Promise.all(ids.map((petId) => client.updateInventory(petId, { quantity: Number(petId % 10n) })));
    await vi.runAllTimersAsync();
    await updates;
    expect((await client.listInventory()).map(({ petId, quantity }) => [petId, quantity])).toEqual([
      [ids[0], 2],
      [ids[1], 3],
    ]);
  });

  test('makes a change again that was applied but not answered, and sends nothing after that', async () => {
    const sandbox = createSandbox({ pets: 1, faults: [{ at: 1, fail: 'lost' }] });
    const client = new PetStoreClient({ apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch });
    const update = client.updateInventory(1, { quantity: 7 }).withResponse();
    await vi.runAllTimersAsync();
    expect(await update).toMatchObject({ data: { quantity: 7 }, attempts: 2, waitedMs: 500 });
    expect(sandbox.requests).toHaveLength(2);
  });
});

describe('a client that is printed', () => {
  const OPTIONS = { apiKey: KEY, baseUrl: 'https://shop.example/v1', headers: { 'x-team': 'stock' } };
  const custom = { requestsPerMinute: 5_000, requestsPerDay: 1_000_000 };

  test.each([
    ['free', 'free'],
    ['pro', 'pro'],
    ['business', 'business'],
    ['unlimited', 'unlimited'],
    [custom, custom],
    [undefined, 'learned'],
  ] as const)('shows class, address and the plan %o, and neither its key nor other options', (plan, shown) => {
    const client = new PetStoreClient({ ...OPTIONS, plan });
    const text = `PetStoreClient ${JSON.stringify({ baseUrl: OPTIONS.baseUrl, plan: shown })}`;
    expect([inspect(client, { depth: 20, showHidden: true, getters: true }), format('%s %o', client, client), String(client)]).toEqual([
      text,
      `${text} ${text}`,
      text,
    ]);
    expect(JSON.parse(JSON.stringify(client))).toEqual({ name: 'PetStoreClient', baseUrl: OPTIONS.baseUrl, plan: shown });
  });

  test('hides a key that is part of its address', () => {
    const client = new PetStoreClient({ apiKey: KEY, baseUrl: `https://shop.example/${KEY}/v1`, plan: 'pro' });
    const text = 'PetStoreClient {"baseUrl":"https://shop.example/***/v1","plan":"pro"}';
    expect([inspect(client), String(client), client.toJSON().baseUrl]).toEqual([text, text, 'https://shop.example/***/v1']);
  });

  test('shows neither key nor options if it is printed without its own method', () => {
    const shown = inspect(
      { client: new PetStoreClient({ ...OPTIONS, plan: 'pro' }) },
      { customInspect: false, depth: 20, showHidden: true },
    );
    expect(shown).not.toContain(KEY);
    expect(shown).not.toContain('x-team');
  });
});
