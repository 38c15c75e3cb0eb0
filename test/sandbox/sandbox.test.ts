import { createSandbox } from 'petstore-inventory/sandbox';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { asked, patch } from './ask.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('createSandbox answers the two operations', () => {
  test('GET /inventory lists every pet with the id, quantity and status it was given', async () => {
    const sandbox = createSandbox({
      pets: [
        { petId: 7, quantity: 3 },
        { petId: 8, quantity: 0, status: 'sold' },
      ],
    });
    const answer = await asked(sandbox, '/inventory');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual([
      { petId: 7, quantity: 3, status: 'available' },
      { petId: 8, quantity: 0, status: 'sold' },
    ]);
  });

  test('PATCH /inventory/{petId} sets the quantity and leaves the status alone', async () => {
    const sandbox = createSandbox({ pets: [{ petId: 7, quantity: 3, status: 'pending' }] });
    const answer = await asked(sandbox, '/inventory/7', patch({ quantity: 12 }));
    expect(await answer.json()).toEqual({ petId: 7, quantity: 12, status: 'pending' });
    expect(sandbox.inventory.get(7)).toEqual({ petId: 7n, quantity: 12, status: 'pending' });
  });

  test('keeps every digit of ids beyond 2^53, in the path and in the body', async () => {
    const petId = 9_223_372_036_854_775_807n;
    const sandbox = createSandbox({ pets: [{ petId, quantity: 1 }] });
    const answer = await asked(sandbox, `/inventory/${petId}`, patch({ quantity: 2 }));
    expect(await answer.text()).toBe('{"petId":9223372036854775807,"quantity":2,"status":"available"}');
  });

  test('streams a list of thousands as one JSON document', async () => {
    const sandbox = createSandbox({ pets: 5_000 });
    const answer = await asked(sandbox, '/inventory');
    const items: unknown = await answer.json();
    expect(items).toHaveLength(5_000);
  });

  test('makes the same pets for the same seed', () => {
    const [one, other] = [createSandbox({ pets: 50, seed: 4 }), createSandbox({ pets: 50, seed: 4 })];
    expect([...one.inventory]).toEqual([...other.inventory]);
    expect(new Set([...one.inventory].map(({ status }) => status))).toEqual(new Set(['available', 'pending', 'sold']));
  });
});

describe('createSandbox refuses with an Error body', () => {
  test.each([
    ['no JSON', '{"quantity":'],
    ['no quantity', '{}'],
    ['a quantity in words', '{"quantity":"12"}'],
    ['half a pet', '{"quantity":1.5}'],
    ['nothing', ''],
  ])('an update with %s gets 400', async (_name, body) => {
    const answer = await asked(createSandbox(), '/inventory/1', { method: 'PATCH', body });
    expect(await answer.json()).toEqual({ code: 'invalid_body', message: expect.any(String), status: 400 });
  });

  test.each(['abc', '1.5', '9223372036854775808', '%31%00', '+1'])('a petId written as %s gets 400', async (petId) => {
    const answer = await asked(createSandbox(), `/inventory/${petId}`, patch({ quantity: 1 }));
    expect(await answer.json()).toMatchObject({ code: 'invalid_pet_id', status: 400 });
  });

  test('a pet that it does not have gets 404', async () => {
    const answer = await asked(createSandbox(), '/inventory/999', patch({ quantity: 1 }));
    expect(await answer.json()).toMatchObject({ code: 'pet_missing', status: 404 });
  });

  test('a key that is missing or invalid gets 401 and costs no quota', async () => {
    const sandbox = createSandbox();
    const missing = await sandbox.fetch(`${sandbox.baseUrl}/inventory`);
    const invalid = await asked(sandbox, '/inventory', { headers: { authorization: 'Bearer nobody' } });
    expect([await missing.json(), await invalid.json()]).toMatchObject([{ code: 'missing_key' }, { code: 'invalid_key', status: 401 }]);
    expect((await asked(sandbox, '/inventory')).headers.get('x-ratelimit-remaining')).toBe('59');
  });

  test('endpoints that the specification names but does not show get 501', async () => {
    const sandbox = createSandbox();
    const answers = [await asked(sandbox, '/pets/1'), await asked(sandbox, '/store/orders')];
    expect(await Promise.all(answers.map((answer) => answer.json()))).toMatchObject([{ code: 'not_shown', status: 501 }, { status: 501 }]);
  });

  test('other methods get 405 with the allowed ones, other paths 404', async () => {
    const sandbox = createSandbox();
    const method = await asked(sandbox, '/inventory', { method: 'DELETE' });
    const path = await asked(sandbox, '/nothing');
    expect([method.status, method.headers.get('allow'), path.status]).toEqual([405, 'GET', 404]);
    expect((await asked(sandbox, '/inventory/1')).headers.get('allow')).toBe('PATCH');
    expect((await sandbox.fetch(new URL('/other', sandbox.baseUrl))).status).toBe(404);
  });

  test('a body beyond 64 KiB gets 413', async () => {
    const answer = await asked(createSandbox(), '/inventory/1', { method: 'PATCH', body: 'x'.repeat(70_000) });
    expect(await answer.json()).toMatchObject({ code: 'body_too_large', status: 413 });
  });
});

describe('createSandbox limits requests', () => {
  test('every answer carries the limit, what is left, the reset in Unix seconds and the time of the service', async () => {
    vi.useFakeTimers({ now: Date.parse('2026-11-21T10:00:20.500Z') });
    const sandbox = createSandbox();
    await asked(sandbox, '/inventory');
    const answer = await asked(sandbox, '/inventory/999', patch({ quantity: 1 }));
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'x-ratelimit-limit': '60',
      'x-ratelimit-remaining': '58',
      'x-ratelimit-reset': String(Date.parse('2026-11-21T10:01:00Z') / 1_000),
      date: 'Sat, 21 Nov 2026 10:00:20 GMT',
    });
  });

  test('gives each plan a key, in whatever script it is named', () => {
    const { keys } = createSandbox({
      plans: Object.fromEntries(
        ['малый', '小さい', 'my plan', 'my_plan', 'é', 'e9', '~e9~'].map((plan) => [plan, { requestsPerMinute: 1 }]),
      ),
    });
    expect(new Set(Object.values(keys)).size).toBe(10);
    expect(Object.values(keys).join('')).toMatch(/^[!-~]+$/);
  });

  test('the request after the last one gets 429 with the seconds until the window turns, and the window turns', async () => {
    vi.useFakeTimers({ now: Date.parse('2026-11-21T10:00:20.500Z') });
    const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 1 } } });
    const statuses = [(await asked(sandbox, '/inventory')).status];
    const limited = await asked(sandbox, '/inventory');
    vi.advanceTimersByTime(40_000);
    statuses.push(limited.status, (await asked(sandbox, '/inventory')).status);
    expect(statuses).toEqual([200, 429, 200]);
    expect(limited.headers.get('retry-after')).toBe('40');
    expect(await limited.json()).toEqual({ code: 'rate_limited', message: 'The rate limit is exceeded', status: 429 });
  });

  test('the day has its own limit', async () => {
    vi.useFakeTimers({ now: Date.parse('2026-11-21T23:00:00Z') });
    const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 5, requestsPerDay: 1 } } });
    await asked(sandbox, '/inventory');
    expect((await asked(sandbox, '/inventory')).headers.get('retry-after')).toBe('3600');
  });

  test('`window` shortens the minute', async () => {
    vi.useFakeTimers({ now: 10_000 });
    const sandbox = createSandbox({ window: 500, plans: { free: { requestsPerMinute: 1 } } });
    await asked(sandbox, '/inventory');
    vi.advanceTimersByTime(500);
    expect((await asked(sandbox, '/inventory')).status).toBe(200);
  });

  test('keys are counted separately, and so are production and staging', async () => {
    const sandbox = createSandbox();
    await asked(sandbox, '/inventory');
    const pro = await asked(sandbox, '/inventory', { headers: { authorization: `Bearer ${sandbox.keys.pro}` } });
    const staging = await sandbox.fetch(`${sandbox.staging.baseUrl}/inventory`, {
      headers: { authorization: `Bearer ${sandbox.keys.free}` },
    });
    expect([pro, staging].map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['299', '59']);
  });
});

describe('createSandbox keeps a ledger', () => {
  test('`requests` lists what came, when, from which key and how it was answered', async () => {
    const sandbox = createSandbox({ clock: () => 1_000 });
    await asked(sandbox, '/inventory/1', patch({ quantity: 5 }));
    expect(sandbox.requests).toEqual([
      {
        number: 1,
        atMs: 1_000,
        method: 'PATCH',
        path: '/inventory/1',
        environment: 'production',
        key: sandbox.keys.free,
        plan: 'free',
        petId: 1n,
        duringPenalty: false,
        quantity: 5,
        status: 200,
        code: undefined,
        fault: undefined,
      },
    ]);
  });

  test("a request before the end of a 429's wait is marked", async () => {
    const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 1 } }, clock: () => 0 });
    await asked(sandbox, '/inventory');
    await asked(sandbox, '/inventory');
    await asked(sandbox, '/inventory');
    expect(sandbox.requests.map(({ duringPenalty }) => duringPenalty)).toEqual([false, false, true]);
  });

  test.each(['constructor', '__proto__'])('`report()` counts the requests of a plan with the name %s', async (name) => {
    const plans = Object.fromEntries([[name, { requestsPerMinute: 2 }]]);
    const sandbox = createSandbox({ plans, keys: { psk_own: name } });
    const headers = { authorization: 'Bearer psk_own' };
    await sandbox.fetch(`${sandbox.baseUrl}/inventory`, { headers });
    await sandbox.fetch(`${sandbox.baseUrl}/inventory`, { headers });
    expect(Object.entries(sandbox.report().byPlan)).toEqual([[name, 2]]);
  });

  test('`report()` counts all requests, and `clear()` deletes them', async () => {
    const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 2 } }, clock: () => 0 });
    await asked(sandbox, '/inventory/1', patch({ quantity: 5 }));
    await asked(sandbox, '/inventory/999', patch({ quantity: 5 }));
    await asked(sandbox, '/inventory');
    await asked(sandbox, '/inventory');
    await sandbox.fetch(`${sandbox.baseUrl}/inventory`);
    expect(sandbox.report()).toEqual({
      requests: 5,
      byStatus: { 200: 1, 401: 1, 404: 1, 429: 2 },
      byPlan: { free: 4, none: 1 },
      rateLimited: 2,
      duringPenalty: 1,
      bans: 0,
      faults: 0,
      updatesByPet: { 1: 1 },
    });
    sandbox.clear();
    expect([sandbox.report().requests, sandbox.requests.length]).toEqual([0, 0]);
  });

  test('`history` limits what is kept, not what is counted', async () => {
    const sandbox = createSandbox({ history: 4 });
    await Promise.all(Array.from({ length: 10 }, () => asked(sandbox, '/inventory')));
    expect(sandbox.requests.length).toBeLessThanOrEqual(5);
    expect([sandbox.requests.at(-1)?.number, sandbox.report().requests]).toEqual([10, 10]);
  });
});

describe('sandboxes', () => {
  test('ten in one process each have their own address, keys, stock and counts', async () => {
    const all = Array.from({ length: 10 }, () => createSandbox());
    await Promise.all(all.map((sandbox, index) => asked(sandbox, '/inventory/1', patch({ quantity: index }))));
    expect(new Set(all.map(({ baseUrl }) => baseUrl)).size).toBe(10);
    expect(new Set(all.flatMap(({ keys }) => Object.values(keys))).size).toBe(30);
    expect(all.map(({ inventory }) => inventory.get(1)?.quantity)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(all.map(({ requests }) => requests.length)).toEqual(Array(10).fill(1));
  });

  test('a custom plan has a key at once, and keys can be added and removed at run time', async () => {
    const sandbox = createSandbox({ plans: { enterprise: { requestsPerMinute: 5_000 } }, keys: { mine: 'enterprise' } });
    const statusOf = async (key: string) => (await asked(sandbox, '/inventory', { headers: { authorization: `Bearer ${key}` } })).status;
    const added = sandbox.addKey('pro');
    const before = [await statusOf(sandbox.keys.enterprise), await statusOf('mine'), await statusOf(added)];
    const revoked = sandbox.revokeKey(added);
    expect([...before, revoked, await statusOf(added), sandbox.revokeKey(added)]).toEqual([200, 200, 200, true, 401, false]);
  });

  test('a quantity is a safe integer, and never -0', async () => {
    const sandbox = createSandbox({ pets: [{ petId: 1, quantity: -0 }] });
    const first = sandbox.inventory.get(1)?.quantity;
    const zero = await asked(sandbox, '/inventory/1', { method: 'PATCH', body: '{"quantity":-0}' });
    const unsafe = await asked(sandbox, '/inventory/1', { method: 'PATCH', body: '{"quantity":9007199254740993}' });
    expect([zero.status, unsafe.status]).toEqual([200, 400]);
    expect([first, sandbox.inventory.get(1)?.quantity, sandbox.requests[0]?.quantity]).toEqual([0, 0, 0]);
  });

  test('changes of the inventory are visible in both directions', async () => {
    const sandbox = createSandbox({ pets: 1 });
    sandbox.inventory.set(2n, { quantity: 9, status: 'sold' });
    sandbox.inventory.set(2, { quantity: 8 });
    sandbox.inventory.delete(1);
    expect(await (await asked(sandbox, '/inventory')).json()).toEqual([{ petId: 2, quantity: 8, status: 'sold' }]);
    expect(sandbox.inventory.size).toBe(1);
  });

  test.each([
    3,
    [
      { petId: 1, quantity: 5 },
      { petId: 2, quantity: 6 },
    ],
  ])('reset() restores the pets %j, and keeps the keys', async (pets) => {
    const sandbox = createSandbox({
      pets,
      plans: { tiny: { requestsPerMinute: 1 } },
      ban: { after: 0, forMs: 60_000 },
      clock: () => 30_000,
    });
    const [stock, staging] = [[...sandbox.inventory], [...sandbox.staging.inventory]];
    const statusOf = async () => (await asked(sandbox, '/inventory', { headers: { authorization: `Bearer ${sandbox.keys.tiny}` } })).status;
    expect([await statusOf(), await statusOf(), await statusOf()]).toEqual([200, 429, 401]);
    sandbox.inventory.set(1, { quantity: 77 });
    sandbox.inventory.set(99, { quantity: 1 });
    sandbox.staging.inventory.delete(1);
    sandbox.reset();
    expect([[...sandbox.inventory], [...sandbox.staging.inventory]]).toEqual([stock, staging]);
    expect([sandbox.requests, sandbox.report()]).toMatchObject([[], { requests: 0, bans: 0 }]);
    expect([await statusOf(), await statusOf()]).toEqual([200, 429]);
  });

  test('a long list is written while it is read, so that changes behind its first piece are in it', async () => {
    const sandbox = createSandbox({ pets: 50_000 });
    const reader = (await asked(sandbox, '/inventory')).body?.pipeThrough(new TextDecoderStream()).getReader();
    const first = await reader?.read();
    sandbox.inventory.set(50_000, { quantity: 123_456_789, status: 'sold' });
    let text = first?.value ?? '';
    for (let piece = await reader?.read(); piece?.value !== undefined; piece = await reader?.read()) text += piece.value;
    expect(JSON.parse(text).at(-1)).toEqual({ petId: 50_000, quantity: 123_456_789, status: 'sold' });
  });
});
