import { createSandbox } from 'petstore-inventory/sandbox';
import { describe, expect, test } from 'vitest';

const pets = (request: Request) => (new URL(request.url).pathname.endsWith('/pets/42') ? Response.json({ id: 42 }) : undefined);

/** Asks a sandbox with its Free key. */
function ask(sandbox: ReturnType<typeof createSandbox>, path: string, init: RequestInit = {}): Promise<Response> {
  return sandbox.fetch(`${sandbox.baseUrl}${path}`, { ...init, headers: { authorization: `Bearer ${sandbox.keys.free}` } });
}

describe('The option `routes`', () => {
  test('adds endpoints, which are counted and reported like the others', async () => {
    const sandbox = createSandbox({ routes: pets });
    const answer = await ask(sandbox, '/pets/42?full=1');
    expect([await answer.json(), answer.headers.get('x-ratelimit-remaining')]).toEqual([{ id: 42 }, '59']);
    expect(sandbox.requests).toMatchObject([{ method: 'GET', path: '/pets/42', status: 200, plan: 'free' }]);
  });

  test('leaves the inventory, and requests that it does not answer, to the sandbox', async () => {
    const asked: string[] = [];
    const sandbox = createSandbox({ routes: ({ method }) => void asked.push(method) });
    const statuses = [await ask(sandbox, '/pets/1'), await ask(sandbox, '/nothing'), await ask(sandbox, '/inventory')].map(
      ({ status }) => status,
    );
    expect([statuses, asked]).toEqual([
      [501, 404, 200],
      ['GET', 'GET'],
    ]);
  });

  test('is not asked about the inventory, whatever the method', async () => {
    const sandbox = createSandbox({ routes: () => Response.json({}) });
    const answers = [await ask(sandbox, '/inventory/1'), await ask(sandbox, '/inventory', { method: 'POST' })];
    expect(answers.map(({ status, headers }) => [status, headers.get('allow')])).toEqual([
      [405, 'PATCH'],
      [405, 'GET'],
    ]);
  });

  test('may answer later, with a body that it reads, and with headers that cannot be changed', async () => {
    const moved = () => Response.redirect('https://shop.example/', 302);
    const sandbox = createSandbox({ routes: async (request) => (request.body ? new Response(await request.text()) : moved()) });
    expect(await (await ask(sandbox, '/echo', { method: 'POST', body: 'text' })).text()).toBe('text');
    expect((await ask(sandbox, '/moved', { redirect: 'manual' })).headers.get('x-ratelimit-limit')).toBe('60');
  });

  test('is not called for a key that is unknown, or whose quota is used up', async () => {
    const sandbox = createSandbox({ routes: pets, plans: { tiny: { requestsPerMinute: 1 } }, policy: 'fixed-first' });
    const get = (key: string) => sandbox.fetch(`${sandbox.baseUrl}/pets/42`, { headers: { authorization: `Bearer ${key}` } });
    const answers = [await get('unknown'), await get(sandbox.keys.tiny), await get(sandbox.keys.tiny)];
    expect(answers.map(({ status }) => status)).toEqual([401, 200, 429]);
  });

  test('is subject to faults, and answers 500 if it throws', async () => {
    const failing = () => {
      throw new Error('made up');
    };
    const sandbox = createSandbox({ routes: failing, faults: [{ at: 1, status: 503 }] });
    expect([(await ask(sandbox, '/pets/42')).status, (await ask(sandbox, '/pets/42')).status]).toEqual([503, 500]);
    expect(sandbox.report().byStatus).toEqual({ 500: 1, 503: 1 });
  });

  test.each([
    ['an object', () => ({ id: 42 }), 'Cannot use that object as an answer of `routes`: it must be a Response or undefined'],
    ['a text', () => 'hi', 'Cannot use "hi" as an answer of `routes`: it must be a Response or undefined'],
    ['null', () => null, 'Cannot use null as an answer of `routes`: it must be a Response or undefined'],
    ['an error', () => Promise.reject(new Error('made up')), 'made up'],
    ['a text that is thrown', () => Promise.reject('made up'), 'made up'],
  ])('answers 500 and says why if the function gives %s', async (_name, given, reason) => {
    const options: object = { routes: given };
    const sandbox = createSandbox(options);
    const answer = await ask(sandbox, '/pets/42');
    expect([answer.status, await answer.json()]).toMatchObject([500, { message: `The sandbox could not answer: ${reason}` }]);
  });

  test('answers 500 if it gives the same Response twice', async () => {
    const rex = Response.json({ id: 42 });
    const sandbox = createSandbox({ routes: () => rex });
    const answers = [await ask(sandbox, '/pets/42'), await ask(sandbox, '/pets/42')];
    const message = 'The sandbox could not answer: Cannot use that Response as an answer of `routes`: its body was used before; make one';
    expect(answers.map(({ status }) => status)).toEqual([200, 500]);
    expect(await answers[1]?.text()).toContain(message);
  });

  test('must be a function', () => {
    const options: object = { routes: {} };
    expect(() => createSandbox(options)).toThrow(
      'Cannot use that object as `routes`: it must be a function that returns a Response or undefined',
    );
  });
});
