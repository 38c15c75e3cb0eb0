import { PetStoreClient } from 'petstore-inventory';
import { createSandbox, SandboxError, type SandboxOptions } from 'petstore-inventory/sandbox';
import { describe, expect, test, vi } from 'vitest';
import { rejectionOf, soFar } from '../support/outcome.ts';
import { asked, patch } from './ask.ts';

describe('faults happen', () => {
  test('by request number, instead of the answer', async () => {
    const sandbox = createSandbox({ faults: [{ at: [2, 3], status: 503 }] });
    const answers = [await asked(sandbox, '/inventory'), await asked(sandbox, '/inventory/1', patch({ quantity: 4_000 }))];
    expect(answers.map(({ status }) => status)).toEqual([200, 503]);
    expect(await answers[1]?.json()).toEqual({ code: 'fault', message: 'The sandbox was told to answer 503', status: 503 });
    expect(sandbox.inventory.get(1)?.quantity).not.toBe(4_000);
    expect(sandbox.requests[1]).toMatchObject({ fault: 'status 503', status: 503, code: 'fault' });
  });

  test('by rate, the same ones for the same seed', async () => {
    const run = async () => {
      const sandbox = createSandbox({ faults: [{ rate: 0.3, status: 500 }], seed: 5, plans: { free: { requestsPerMinute: 500 } } });
      const answers = await Promise.all(Array.from({ length: 200 }, () => asked(sandbox, '/inventory')));
      return answers.map(({ status }) => status);
    };
    const statuses = await run();
    expect(statuses).toEqual(await run());
    expect(statuses.filter((status) => status === 500).length).toBeGreaterThan(30);
    expect(statuses.filter((status) => status === 500).length).toBeLessThan(90);
  });

  test('by a rule, a given number of times', async () => {
    const sandbox = createSandbox({ faults: [{ when: ({ petId }) => petId === 2n, times: 1, status: 500 }] });
    const ids = [1, 2, 2];
    const answers = await Promise.all(ids.map((id) => asked(sandbox, `/inventory/${id}`, patch({ quantity: 1 }))));
    expect(answers.map(({ status }) => status)).toEqual([200, 500, 200]);
    expect(sandbox.report().faults).toBe(1);
  });

  test.each([undefined, null, 0, ''])('not by a rule that returns %s', async (result) => {
    const options: object = { faults: [{ when: () => result, status: 503 }] };
    expect((await asked(createSandbox(options), '/inventory')).status).toBe(200);
  });

  test('once by a rule that takes its own fault back, and as often again after one that resets the sandbox', async () => {
    const sandbox = createSandbox();
    const statuses = async () => {
      const answers = [await asked(sandbox, '/inventory'), await asked(sandbox, '/inventory'), await asked(sandbox, '/inventory')];
      return answers.map(({ status }) => status);
    };
    const rule = (act: () => void) => () => {
      act();
      return true;
    };
    const takeBack = sandbox.faults.add({ when: rule(() => takeBack()), status: 503 });
    const once = await statuses();
    const resets = vi
      .fn()
      .mockImplementationOnce(() => {})
      .mockImplementationOnce(() => sandbox.reset());
    sandbox.faults.add({ when: rule(resets), times: 2, status: 500 });
    expect([once, await statuses(), await statuses()]).toEqual([
      [503, 200, 200],
      [500, 500, 500],
      [200, 200, 200],
    ]);
  });

  test('once more after `reset()`, but not after `clear()`', async () => {
    const sandbox = createSandbox({
      faults: [
        { at: 1, status: 503 },
        { times: 1, status: 500 },
      ],
    });
    const statuses = async () => [(await asked(sandbox, '/inventory')).status, (await asked(sandbox, '/inventory')).status];
    const first = await statuses();
    sandbox.clear();
    const cleared = await statuses();
    sandbox.reset();
    expect([first, cleared, await statuses()]).toEqual([
      [503, 500],
      [200, 200],
      [503, 500],
    ]);
    expect(sandbox.requests.map(({ number }) => number)).toEqual([1, 2]);
  });

  test('`faults.add` adds a fault at run time, and returns a function that removes it', async () => {
    const sandbox = createSandbox();
    const takeBack = sandbox.faults.add({ status: 429 });
    const faulty = await asked(sandbox, '/inventory');
    takeBack();
    sandbox.faults.add({ status: 500 });
    sandbox.faults.clear();
    expect([faulty.status, faulty.headers.get('retry-after'), (await asked(sandbox, '/inventory')).status]).toEqual([429, '1', 200]);
    expect(() => sandbox.faults.add({ at: 1 })).toThrow(SandboxError);
  });

  test('an answer may lack headers or have others', async () => {
    const sandbox = createSandbox({ faults: [{ headers: { 'x-ratelimit-limit': 'many', date: null } }] });
    const { headers, status } = await asked(sandbox, '/inventory');
    expect([status, headers.get('x-ratelimit-limit'), headers.get('date')]).toEqual([200, 'many', null]);
  });

  test('an answer may have any status and body', async () => {
    const faults = [
      { at: 1, status: 204 },
      { at: 2, status: 502, body: '<html>' },
    ];
    const sandbox = createSandbox({ faults });
    const [empty, page] = [await asked(sandbox, '/inventory'), await asked(sandbox, '/inventory')];
    expect([empty.status, empty.body, page.status, await page.text()]).toEqual([204, null, 502, '<html>']);
  });
});

describe('a function of the caller that fails rejects the request:', () => {
  const cause = new Error('a typo');
  const fail = () => {
    throw cause;
  };

  test.each([
    ['`when`', { faults: [{ when: fail, status: 503 }] }, 'Cannot use the condition `when` of a fault: it threw Error: a typo'],
    ['`latency`', { latency: fail }, 'Cannot use the function of a latency: it threw Error: a typo'],
    ['`delayMs`', { faults: [{ delayMs: fail }] }, 'Cannot use the function of a latency: it threw Error: a typo'],
  ])('%s', async (_name, options, message) => {
    await expect(asked(createSandbox(options), '/inventory')).rejects.toThrow(new SandboxError(message, { cause }));
  });

  test('a `when` that is async', async () => {
    const options: object = { faults: [{ when: async () => false, status: 503 }] };
    const message = 'Cannot use the condition `when` of a fault: it returned a promise, so it must not be async';
    await expect(asked(createSandbox(options), '/inventory')).rejects.toThrow(new SandboxError(message));
  });

  test('a latency that is no number', async () => {
    const sandbox = createSandbox({ latency: () => Number.NaN });
    const message = 'Cannot use the function of a latency: it returned NaN, not a number';
    await expect(asked(sandbox, '/inventory')).rejects.toThrow(new SandboxError(message));
  });
});

describe('a 429 of a fault starts the penalty of its Retry-After', () => {
  /** Sends requests to a service whose clock stands still, and gives their statuses and which came during a penalty. */
  const early = async (options: SandboxOptions, count = 3) => {
    const sandbox = createSandbox(options);
    sandbox.clock.hold();
    const statuses: number[] = [];
    for (let sent = 0; sent < count; sent++) statuses.push((await asked(sandbox, '/inventory')).status);
    return { statuses, duringPenalty: sandbox.requests.map((request) => request.duringPenalty), bans: sandbox.report().bans };
  };

  test.each([
    ['in seconds', { status: 429, headers: { 'Retry-After': '60' } }],
    ['with a fraction', { status: 429, headers: { 'retry-after': '0.5' } }],
    ['as a date', { status: 429, headers: { 'retry-after': 'Sat, 21 Nov 2099 10:00:00 GMT' } }],
    ['of one second without `headers`', { status: 429 }],
    ['of one second with a `body`', { status: 429, body: 'slow down' }],
  ])('%s', async (_name, fault) => {
    expect(await early({ faults: [{ at: 1, ...fault }] })).toEqual({
      statuses: [429, 200, 200],
      duringPenalty: [false, true, true],
      bans: 0,
    });
  });

  test.each([null, 'soon', '0'])('and none with a Retry-After of %s', async (value) => {
    const { statuses, duringPenalty } = await early({ faults: [{ at: 1, status: 429, headers: { 'retry-after': value } }] });
    expect([statuses, duringPenalty]).toEqual([
      [429, 200, 200],
      [false, false, false],
    ]);
  });

  test.each([
    ['2', 2_000],
    ['0.5', 500],
  ])('which ends when the Retry-After of %s has passed', async (value, penaltyMs) => {
    const sandbox = createSandbox({ faults: [{ at: 1, status: 429, headers: { 'retry-after': value } }] });
    sandbox.clock.hold();
    await asked(sandbox, '/inventory');
    sandbox.clock.advance(penaltyMs - 1);
    await asked(sandbox, '/inventory');
    sandbox.clock.advance(1);
    await asked(sandbox, '/inventory');
    expect(sandbox.requests.map(({ duringPenalty }) => duringPenalty)).toEqual([false, true, false]);
  });

  test('which leads to no ban: parallel requests could not know of it', async () => {
    const sandbox = createSandbox({ latency: 50, ban: { after: 2, forMs: 60_000 }, faults: [{ at: [2, 3, 4, 5, 6, 7, 8], status: 429 }] });
    const { baseUrl, fetch, keys } = sandbox;
    const petstore = new PetStoreClient({ apiKey: keys.business, baseUrl, fetch, plan: 'business' });
    const updates = Array.from({ length: 20 }, (_, pet) => petstore.updateInventory(1 + (pet % 10), { quantity: pet }));
    expect(await Promise.all(updates)).toHaveLength(20);
    expect(sandbox.report().bans).toBe(0);
  });

  test('from when it is handed out', async () => {
    const sandbox = createSandbox({ faults: [{ at: 1, status: 429, delayMs: 1_500 }] });
    sandbox.clock.hold();
    const first = asked(sandbox, '/inventory');
    await asked(sandbox, '/inventory');
    sandbox.clock.advance(1_500);
    await first;
    await asked(sandbox, '/inventory');
    expect(sandbox.requests.map(({ duringPenalty }) => duringPenalty)).toEqual([false, false, true]);
  });

  test.each([{ status: 503 }, { fail: 'reset' }, { fail: 'lost' }, { fail: 'cut' }] as const)(
    'but no 429 that %o keeps from the caller does',
    async (fault) => {
      const sandbox = createSandbox({
        plans: { free: { requestsPerMinute: 1 } },
        rateLimitBody: 'empty',
        faults: [{ at: 2, ...fault }],
        ban: { after: 0, forMs: 60_000 },
      });
      sandbox.clock.hold();
      await asked(sandbox, '/inventory');
      await asked(sandbox, '/inventory').catch(() => {});
      const refused = await asked(sandbox, '/inventory');
      expect(refused.status).toBe(429);
      expect(sandbox.report()).toMatchObject({ duringPenalty: 0, bans: 0 });
    },
  );

  test.each(['reset', 'lost'] as const)('nor does a 429 of a fault with %s', async (fail) => {
    const sandbox = createSandbox({ faults: [{ at: 1, status: 429, fail }] });
    sandbox.clock.hold();
    await asked(sandbox, '/inventory').catch(() => {});
    await asked(sandbox, '/inventory');
    expect(sandbox.report().duringPenalty).toBe(0);
  });

  test.each([
    ['1', [false, false, false, false]],
    ['soon', [false, false, true, true]],
    ['60', [false, false, true, true]],
  ])('and so does a 429 of the limit to which a fault gives a Retry-After of %s', async (value, duringPenalty) => {
    const sandbox = createSandbox({ pets: 1, plans: { free: { requestsPerMinute: 1 } }, faults: [{ headers: { 'Retry-After': value } }] });
    sandbox.clock.hold();
    sandbox.clock.set(Date.UTC(2026, 10, 21, 10));
    for (const afterMs of [0, 0, 2_000, 2_000]) {
      sandbox.clock.advance(afterMs);
      await asked(sandbox, '/inventory');
    }
    expect(sandbox.requests.map((request) => request.duringPenalty)).toEqual(duringPenalty);
  });

  test('and so does a 429 of `routes`', async () => {
    const sandbox = createSandbox({ routes: () => new Response(null, { status: 429, headers: { 'retry-after': '60' } }) });
    await asked(sandbox, '/pets/42');
    await asked(sandbox, '/inventory');
    expect(sandbox.report()).toMatchObject({ rateLimited: 1, duringPenalty: 1 });
  });
});

describe('exchanges break as a real fetch does', () => {
  test('reset rejects like a fetch and changes nothing, lost changes the stock first', async () => {
    const faults = [
      { at: 1, fail: 'reset' },
      { at: 2, fail: 'lost' },
    ] as const;
    const sandbox = createSandbox({ pets: [{ petId: 1, quantity: 0 }], faults });
    const reset = await asked(sandbox, '/inventory/1', patch({ quantity: 1 })).catch((error: unknown) => error);
    const afterReset = sandbox.inventory.get(1)?.quantity;
    const lost = await asked(sandbox, '/inventory/1', patch({ quantity: 2 })).catch((error: unknown) => error);
    expect([reset, lost]).toMatchObject([{ message: 'fetch failed', cause: { code: 'ECONNRESET' } }, { message: 'fetch failed' }]);
    expect([afterReset, sandbox.inventory.get(1)?.quantity]).toEqual([0, 2]);
    expect(sandbox.requests.map(({ status }) => status)).toEqual([undefined, 200]);
  });

  test('stall gives no answer until the caller leaves', async () => {
    const sandbox = createSandbox({ faults: [{ fail: 'stall' }] });
    const leave = new AbortController();
    const answer = rejectionOf(asked(sandbox, '/inventory', { signal: leave.signal }));
    const reason = new Error('enough');
    await expect.poll(() => sandbox.requests).toHaveLength(1);
    expect(await soFar(answer)).toBe('pending');
    leave.abort(reason);
    expect(await answer).toBe(reason);
  });

  test('malformed is not JSON, cut ends in the middle with an error', async () => {
    const faults = [
      { at: 1, fail: 'malformed' },
      { at: 2, fail: 'cut' },
    ] as const;
    const sandbox = createSandbox({ faults });
    const [malformed, cut] = [await asked(sandbox, '/inventory'), await asked(sandbox, '/inventory')];
    await expect(malformed.json()).rejects.toThrow(SyntaxError);
    await expect(cut.text()).rejects.toThrow('terminated');
  });

  test('stall-body gives half and then waits for the caller to leave', async () => {
    const sandbox = createSandbox({ faults: [{ fail: 'stall-body' }] });
    const leave = new AbortController();
    const answer = await asked(sandbox, '/inventory', { signal: leave.signal });
    const reader = answer.body?.getReader();
    const half = await reader?.read();
    const rest = rejectionOf(Promise.resolve(reader?.read()));
    expect(await soFar(rest)).toBe('pending');
    leave.abort(new Error('enough'));
    expect(await rest).toEqual(new Error('enough'));
    expect(new TextDecoder().decode(half?.value)).toMatch(/^\[\{"petId":1,/);
  });

  test.each([
    ['a status without a body', { status: 503, body: '' }, {}],
    ['204', { status: 204 }, {}],
    ['HEAD', {}, { method: 'HEAD' }],
  ])('%s: an answer without a body breaks before its headers', async (_name, fault, init) => {
    const faults = [
      { at: 1, fail: 'cut', ...fault },
      { at: 2, fail: 'stall-body', ...fault },
    ] as const;
    const sandbox = createSandbox({ faults });
    await expect(asked(sandbox, '/inventory', init)).rejects.toThrow('fetch failed');
    expect(await soFar(asked(sandbox, '/inventory', init))).toBe('pending');
  });

  test('a delay is added to the answer, by the clock of the sandbox', async () => {
    const sandbox = createSandbox({ faults: [{ delayMs: 5_000 }] });
    sandbox.clock.hold();
    const settled = vi.fn();
    const answer = asked(sandbox, '/inventory').then(settled);
    await expect.poll(() => sandbox.requests[0]?.status).toBe(200);
    sandbox.clock.advance(4_999);
    await Promise.resolve();
    expect(settled).not.toHaveBeenCalled();
    sandbox.clock.advance(1);
    await answer;
    expect(settled).toHaveBeenCalledOnce();
  });
});
