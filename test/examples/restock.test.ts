import { type ServedSandbox, serveSandbox } from 'petstore-inventory/node';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type InstalledPackage, installPackage } from '../docs/support/installed-package.ts';

let installed: InstalledPackage;
let served: ServedSandbox;
let env: Record<string, string>;

beforeAll(async () => {
  installed = await installPackage();
  await installed.copy('examples/restock.ts');
});
beforeEach(async () => {
  served = await serveSandbox({ pets: [1, 2, 3].map((petId) => ({ petId, quantity: 5 })) });
  env = { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro };
  return () => served.close();
});
afterAll(() => installed[Symbol.asyncDispose]());

test('restock.ts brings the stock to its file once, however often it is run', async () => {
  await installed.write('stock-1.csv', 'petId,quantity,adjust\r\n1,,+4\r\n2,5,\r\n\r\n99,1,\r\n3,,-1\r\n');
  const first = await installed.run('examples/restock.ts', { args: ['stock-1.csv'], env });
  const again = await installed.run('examples/restock.ts', { args: ['stock-1.csv'], env });
  expect(first).toEqual({
    code: 4,
    stdout: "stock-1.csv: 2 updated, 1 unchanged, 0 pending\npet 99 is missing in the service's list\n",
    stderr: '',
  });
  expect(again).toEqual(first);
  expect([1, 2, 3].map((petId) => served.sandbox.inventory.get(petId)?.quantity)).toEqual([9, 5, 4]);
  expect(served.sandbox.requests).toHaveLength(3);
});

test('restock.ts restocks a pet whose id is beyond 2^53', async () => {
  const petId = 2n ** 53n + 1n;
  served.sandbox.inventory.set(petId, { quantity: 5 });
  await installed.write('stock-5.csv', `petId,quantity,adjust\n${petId},,+4\n`);
  const run = await installed.run('examples/restock.ts', { args: ['stock-5.csv'], env });
  expect(run).toEqual({ code: 0, stdout: 'stock-5.csv: 1 updated, 0 unchanged, 0 pending\n', stderr: '' });
  expect(served.sandbox.inventory.get(petId)?.quantity).toBe(9);
});

test('restock.ts stops at SIGTERM, and continues when it is run again', async () => {
  await installed.write('stock-2.csv', 'petId,quantity,adjust\n1,,+1\n2,,+1\n3,,+1\n');
  const takeBack = served.sandbox.faults.add({ when: ({ method }) => method === 'PATCH', fail: 'stall' });
  await using program = installed.start('examples/restock.ts', { args: ['stock-2.csv'], env });
  await expect.poll(() => served.sandbox.requests.length).toBeGreaterThan(1);
  expect(await program.end('SIGTERM')).toBe(75);
  expect(program.told).toContain('3 pending\nstopped by abort: run it again to continue\n');
  takeBack();
  const again = await installed.run('examples/restock.ts', { args: ['stock-2.csv'], env });
  expect(again).toMatchObject({ code: 0, stdout: 'stock-2.csv: 3 updated, 0 unchanged, 0 pending\n' });
  expect([1, 2, 3].map((petId) => served.sandbox.inventory.get(petId)?.quantity)).toEqual([6, 6, 6]);
});

test('restock.ts ends as one that has to be run again after a temporary failure', async () => {
  await installed.write('stock-8.csv', 'petId,quantity\n1,6\n');
  const takeBack = served.sandbox.faults.add({ when: ({ method }) => method === 'PATCH', status: 503, headers: { 'retry-after': '3600' } });
  const failed = await installed.run('examples/restock.ts', { args: ['stock-8.csv'], env });
  expect(failed).toMatchObject({
    code: 75,
    stdout: expect.stringContaining('pet 1 failed: Cannot update pet 1: the service answered 503'),
  });
  takeBack();
  const again = await installed.run('examples/restock.ts', { args: ['stock-8.csv'], env });
  expect(again).toMatchObject({ code: 0, stdout: 'stock-8.csv: 1 updated, 0 unchanged, 0 pending\n' });
});

test.each([
  ['a bad row', 'stock-3.csv', 2, /^restock: stock-3.csv, row 3: expected petId, and quantity or adjust, not "2,\+5"\n$/],
  ['a file that is not there', 'stock-4.csv', 2, /^restock: ENOENT: no such file or directory, open 'stock-4\.csv'\n$/],
  ['no file', '', 2, /^restock: usage: restock\.ts <file>\n$/],
])('restock.ts says in one line what is wrong with %s, and sends nothing', async (_what, file, code, line) => {
  await installed.write('stock-3.csv', 'petId,quantity\n1,5\n2,+5\n');
  const run = await installed.run('examples/restock.ts', { args: [file], env });
  expect(run).toEqual({ code, stdout: '', stderr: expect.stringMatching(line) });
  expect(served.sandbox.requests).toHaveLength(0);
});

test.each([
  ['1,,+5', 'stock-6.csv'],
  ['1,5,', 'stock-7.csv'],
])('restock.ts refuses the row %j under a header of two columns, and sends nothing', async (row, file) => {
  await installed.write(file, `petId,quantity\n2,5\n${row}\n`);
  const run = await installed.run('examples/restock.ts', { args: [file], env });
  expect(run).toEqual({ code: 2, stdout: '', stderr: `restock: ${file}, row 3: it has more fields than the header\n` });
  expect(served.sandbox.requests).toHaveLength(0);
});

test.each([
  ['', 'stock-9.csv'],
  ['petId,quantity\n', 'stock-10.csv'],
  ['petId,quantity\n\n', 'stock-11.csv'],
])('restock.ts refuses the file %j, which is probably a failed export', async (text, file) => {
  await installed.write(file, text);
  const run = await installed.run('examples/restock.ts', { args: [file], env });
  expect(run).toEqual({ code: 2, stdout: '', stderr: `restock: ${file}: it has no rows\n` });
});

test('restock.ts refuses a file without a header, instead of losing its first pet', async () => {
  await installed.write('stock-8.csv', '1,40\n2,41\n');
  expect(await installed.run('examples/restock.ts', { args: ['stock-8.csv'], env })).toEqual({
    code: 2,
    stdout: '',
    stderr: 'restock: stock-8.csv, row 1: expected the header petId,quantity or petId,quantity,adjust\n',
  });
  expect(served.sandbox.requests.filter(({ method }) => method === 'PATCH')).toEqual([]);
});
