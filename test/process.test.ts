import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'petstore-'));
  const source = (path: string) => new URL(`../src/${path}`, import.meta.url).pathname;
  const entryPoints = { index: source('index.ts'), sandbox: source('sandbox/index.ts'), node: source('node/index.ts') };
  const outExtension = { '.js': '.mjs' };
  await build({ entryPoints, outdir: folder, outExtension, bundle: true, format: 'esm', platform: 'node', logLevel: 'silent' });
});

afterAll(() => rm(folder, { recursive: true }));

/** Runs a program with a client that is never closed, and gives what it printed. */
async function run(program: string): Promise<string> {
  const client = `import { PetStoreClient } from './index.mjs';
    const answers = [new Response(null, { status: 429, headers: { 'retry-after': '0.1' } }), new Response('[]')];
    const petstore = new PetStoreClient({ apiKey: 'k', baseUrl: 'https://pets.test/v1', fetch: async () => answers.shift() });`;
  await writeFile(join(folder, 'program.mjs'), `${client}\n${program}`);
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'program.mjs')], { timeout: 60_000 });
  return stdout;
}

test('a process stays while a call waits, and exits when nothing is left to do', async () => {
  const program = "petstore.on('settled', ({ outcome }) => console.log(outcome)); petstore.listInventory({ totalTimeoutMs: 60_000 });";
  expect(await run(program)).toBe('succeeded\n');
});

test('a process stays while a call waits for a permit whose Response is not read', async () => {
  const program = `
    answers.splice(0, 2, new Response('{}'), new Response('[]'));
    const one = new PetStoreClient({ apiKey: 'one', baseUrl: 'https://pets.test/v1', concurrency: 1, attemptTimeoutMs: 300, fetch: async () => answers.shift() });
    const held = await one.fetch('/pets/42');
    one.listInventory().then(({ length }) => console.log(held.status, length));`;
  expect(await run(program)).toBe('200 0\n');
});

test('a process exits after a request to a sandbox was aborted on its way', async () => {
  const program = `import { createSandbox } from './sandbox.mjs';
    const sandbox = createSandbox({ latency: 120_000 });
    await sandbox.fetch(sandbox.baseUrl + '/inventory', { signal: AbortSignal.timeout(50) }).catch(({ name }) => console.log(name));
    sandbox.clock.advance(1);`;
  expect(await run(program)).toBe('TimeoutError\n');
});

test('a process exits after a served sandbox was closed while a request was on its way', async () => {
  const program = `import { serveSandbox } from './node.mjs';
    const served = await serveSandbox({ latency: 120_000 });
    const answer = fetch(served.url + '/inventory').catch(({ message }) => console.log(message));
    setTimeout(() => served.close(), 300);
    await answer;`;
  expect(await run(program)).toBe('fetch failed\n');
});

test('a process whose client never made a call exits', async () => {
  expect(await run("console.log('made')")).toBe('made\n');
});

test('a process exits after a view was read and the consumer of its changes has left or is idle', async () => {
  const program = `import { StockView } from './index.mjs';
    answers.shift();
    answers.push(...Array.from({ length: 9 }, () => new Response('[]')));
    const view = new StockView(petstore, { maxAgeMs: 100 });
    await view.refresh();
    const changes = view.changes();
    const next = changes.next();
    await petstore.updateInventory(1, { quantity: 2 }).catch(() => {});
    answers.push(new Response('{"petId":1,"quantity":2,"status":"sold"}'));
    await view.adjust(1, 1).catch(({ name }) => console.log(name));
    setTimeout(() => changes.return(), 300);
    console.log((await next).done);
    const idle = view.changes()[Symbol.asyncIterator]();
    console.log(view.size);`;
  expect(await run(program)).toBe('NotFoundError\ntrue\n0\n');
});

test('a process that was busy for longer than a time limit reads the answer that came meanwhile', async () => {
  const service = `
    const { createServer } = require('node:http');
    const { parentPort } = require('node:worker_threads');
    const server = createServer((_request, response) => {
      parentPort.postMessage('asked');
      setTimeout(() => response.end('{"petId":1,"quantity":2,"status":"sold"}'), 200);
    });
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;
  const program = `import { once } from 'node:events';
    import { Worker } from 'node:worker_threads';
    const service = new Worker(${JSON.stringify(service)}, { eval: true });
    const [port] = await once(service, 'message');
    service.once('message', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500));
    const limits = { attemptTimeoutMs: 1_000, totalTimeoutMs: 1_000, maxRetries: 0 };
    const client = new PetStoreClient({ apiKey: 'k', baseUrl: 'http://127.0.0.1:' + port + '/v1', ...limits });
    console.log((await client.updateInventory(1, { quantity: 2 }).catch(String)).quantity);
    await service.terminate();`;
  expect(await run(program)).toBe('2\n');
});
