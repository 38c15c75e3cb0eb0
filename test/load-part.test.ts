import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import * as z from 'zod/mini';

const Outcome = z.object({ loaded: z.array(z.string()), told: z.array(z.unknown()) });

/**
 * Runs a program on the built package in a process of its own, and gives the parts that it loaded, each as often as it was, and what it
 * told. `service` answers what it is given in turn; a part named in `missing` cannot be loaded, `late` ones take 50 ms.
 */
async function run(program: string, { missing = '-', late = '-' } = {}): Promise<z.infer<typeof Outcome>> {
  const source = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    const told = [];
    const PART = /\\/(ky|fetched-response|item-batches|long-list|is-beginning|p-retry|bottleneck|zod|problems|journal-record|sandbox|openapi)[/-]/;
    registerHooks({
      load(url, context, next) {
        const part = /petstore-inventory|node_modules|dist/.test(url) ? PART.exec(url)?.[1] : undefined;
        if (part) loaded.push(part);
        if (part === '${missing}') throw new Error('the disk is gone');
        if (part === '${late}') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
        return next(url, context);
      },
    });
    const { PetStoreClient } = await import('petstore-inventory');
    const answers = [];
    const sent = [];
    const item = '{"petId":1,"quantity":2,"status":"sold"}';
    const fetch = async (url, { method, body }) => {
      sent.push(method + ' ' + new URL(url).pathname + (body ?? ''));
      const answer = answers.shift() ?? new Response(method === 'GET' ? '[' + item + ']' : item);
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const petstore = new PetStoreClient({ apiKey: 'k', baseUrl: 'https://pets.test/v1', plan: 'unlimited', fetch });
    ${program}
    console.log(JSON.stringify({ loaded, told }));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source], { timeout: 60_000 });
  return Outcome.parse(JSON.parse(stdout));
}

const refused = "Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) })";
const tellError = '({ name, kind, message, outcome, attempts }) => told.push({ name, kind, message, outcome, attempts })';

test('a good call loads neither ky, p-retry nor bottleneck, and only the parts of zod that the public schemas need', async () => {
  const { loaded, told } = await run(`
    told.push(await petstore.listInventory(), await petstore.updateInventory(1, { quantity: 2 }));`);
  expect(loaded).toEqual([]);
  expect(told).toEqual([[{ petId: 1, quantity: 2, status: 'sold' }], { petId: 1, quantity: 2, status: 'sold' }]);
});

test('a stream loads the reader of bytes, and says so if that fails', async () => {
  const stream = `
    const read = async () => { for await (const item of petstore.streamInventory()) told.push(item.petId); };
    await read().catch(${tellError});`;
  expect(await run(stream)).toEqual({ loaded: ['item-batches'], told: [1] });
  const { told } = await run(stream, { missing: 'item-batches' });
  const message =
    'Cannot read the inventory: the reader of long lists, a part of this package that is loaded when it is needed, cannot be loaded: the disk is gone';
  expect(told).toEqual([{ name: 'ConfigurationError', kind: 'configuration', message, attempts: 1 }]);
});

test('a compressed body that cannot be read is a broken connection even if no part can be loaded', async () => {
  const { told } = await run(
    `answers.push(new Response('[{"petId"', { headers: { 'content-encoding': 'gzip' } }));
    await petstore.listInventory({ maxRetries: 0 }).catch(${tellError});`,
    { missing: 'is-beginning' },
  );
  expect(told).toMatchObject([{ name: 'ConnectionError' }]);
});

test('two failures at the same time load p-retry, and both calls succeed', async () => {
  const { loaded, told } = await run(
    `answers.push(${refused}, ${refused});
    told.push((await Promise.all([petstore.listInventory(), petstore.listInventory()])).length);`,
    { late: 'p-retry' },
  );
  expect(loaded.filter((part) => part === 'p-retry')).toHaveLength(1);
  expect(told).toEqual([2]);
});

test('a failure that is not retried loads nothing', async () => {
  const { loaded, told } = await run(`
    answers.push(new Response('{}', { status: 404 }), ${refused});
    await petstore.updateInventory(1, { quantity: 2 }).catch(${tellError});
    await petstore.listInventory({ maxRetries: 0 }).catch(${tellError});`);
  expect(loaded).toEqual([]);
  expect(told).toMatchObject([{ name: 'NotFoundError' }, { name: 'ConnectionError' }]);
});

test('if p-retry cannot be loaded, the error says so, with the right outcome', async () => {
  const { told } = await run(
    `answers.push(${refused}, new Response('', { status: 500 }));
    await petstore.updateInventory(1, { quantity: 2 }).catch(${tellError});
    await petstore.updateInventory(1, { quantity: 2 }).catch(${tellError});`,
    { missing: 'p-retry' },
  );
  const message =
    'Cannot update pet 1: p-retry, a part of this package that is loaded when it is needed, cannot be loaded: the disk is gone';
  const told500 = { name: 'ConfigurationError', kind: 'configuration', message, attempts: 1 };
  expect(told).toEqual([
    { ...told500, outcome: 'not-sent' },
    { ...told500, outcome: 'unknown' },
  ]);
});

test('an answer that is not known to be good loads the schemas, and the error says so if that fails', async () => {
  const call = `answers.push(new Response('[{"petId":"1","quantity":2,"status":"sold"}]'));
    await petstore.listInventory().catch(${tellError});`;
  const judged = await run(call);
  expect(judged.loaded).toEqual(['problems']);
  expect(judged.told).toMatchObject([{ name: 'InvalidResponseError' }]);
  const failed = await run(call, { missing: 'problems' });
  expect(failed.told).toMatchObject([{ name: 'ConfigurationError', attempts: 1 }]);
});

test('a request that a caller composes loads ky, and the error says that nothing was sent if that fails', async () => {
  const call = `told.push(await petstore.fetch('/a', { method: 'PUT', body: 'b' }).then(({ status }) => status, ${tellError}), sent);`;
  const good = await run(call);
  expect(new Set(good.loaded)).toEqual(new Set(['ky', 'fetched-response']));
  expect(good.told).toEqual([200, ['PUT /v1/ab']]);
  const failed = await run(`const requests = []; petstore.on('request', (event) => requests.push(event)); ${call} told.push(requests);`, {
    missing: 'ky',
  });
  const message = 'Cannot fetch PUT /a: ky, a part of this package that is loaded when it is needed, cannot be loaded: the disk is gone';
  expect(failed.told[0]).toMatchObject({ name: 'ConfigurationError', message, outcome: 'not-sent' });
  expect(failed.told.slice(1)).toEqual([1, [], []]);
});

test('a request that a caller composes waits for ky before it waits for a permit, so that it is not sent after the gate has closed', async () => {
  const { told } = await run(`
    petstore.on('request', ({ path }) => told.push(path));
    const composed = petstore.fetch('/a');
    await petstore.listInventory();
    await composed;`);
  expect(told).toEqual(['/inventory', '/a']);
});

test('answers of fetch at the same time load their reader once, and the error says that the request was sent if that fails', async () => {
  const call = `const put = () => petstore.fetch('/a', { method: 'PUT' }).then(({ status }) => status, ${tellError});
    told.push(await Promise.all([put(), put()]), sent.length);`;
  const good = await run(call, { late: 'fetched-response' });
  expect(good.loaded.filter((part) => part === 'fetched-response')).toHaveLength(1);
  expect(good.told).toEqual([[200, 200], 2]);
  const failed = await run(call, { missing: 'fetched-response' });
  const message =
    'Cannot fetch PUT /a: the reader of fetched answers, a part of this package that is loaded when it is needed, cannot be loaded: the disk is gone';
  expect(failed.told[0]).toMatchObject({ name: 'ConfigurationError', message, outcome: 'unknown' });
});

const limited = `const limited = new PetStoreClient({ apiKey: 'l', baseUrl: 'https://pets.test/v1', plan: 'unlimited', concurrency: 1, fetch });
  const ids = Array.from({ length: 20 }, (_, index) => index + 1);
  const update = (petId) => limited.updateInventory(petId, { quantity: petId }).catch((error) => error.name);`;

test('calls that wait while bottleneck is loaded, and calls that come meanwhile, are sent in order', async () => {
  const { loaded, told } = await run(
    `${limited}
    const first = ids.slice(0, 10).map(update);
    await new Promise(setImmediate);
    await Promise.all([...first, ...ids.slice(10).map(update)]);
    told.push(...sent.map((line) => Number(/inventory.(\\d+)/.exec(line)[1])));`,
    { late: 'bottleneck' },
  );
  expect(loaded).toEqual(['bottleneck']);
  expect(told).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
});

test('if bottleneck cannot be loaded, the waiting calls reject with an error that says so, and none of them hangs', async () => {
  const { told } = await run(`${limited} told.push(...(await Promise.all(ids.slice(0, 3).map(update))).slice(1));`, {
    missing: 'bottleneck',
  });
  expect(told).toEqual(['ConfigurationError', 'ConfigurationError']);
});
