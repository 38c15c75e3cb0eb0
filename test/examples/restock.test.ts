import { serveSandbox } from 'petstore-inventory/node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type InstalledPackage, installPackage } from '../docs/support/installed-package.ts';

let installed: InstalledPackage;

beforeAll(async () => {
  installed = await installPackage();
  await installed.copy('examples');
});
afterAll(() => installed[Symbol.asyncDispose]());

test('restock.ts brings the stock to its file once a day, however often it is run', async () => {
  const { url, keys, sandbox, close } = await serveSandbox({ pets: [1, 2, 3].map((petId) => ({ petId, quantity: 5 })) });
  const env = { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: keys.pro };
  await installed.write('tonight.csv', 'petId,quantity\r\n1,+4\r\n2,5\r\n\r\n99,1\r\n3,-1\r\n');
  const first = await installed.run('examples/restock.ts', { args: ['tonight.csv'], env });
  const again = await installed.run('examples/restock.ts', { args: ['tonight.csv'], env });
  await close();
  expect(first.stdout).toMatch(/^\d{4}-\d\d-\d\d: 2 updated, 1 unchanged, 0 pending\npet 99 is missing in the service's list\n$/);
  expect({ code: again.code, stdout: again.stdout }).toEqual({ code: 0, stdout: first.stdout });
  expect([1, 2, 3].map((petId) => sandbox.inventory.get(petId)?.quantity)).toEqual([9, 5, 4]);
  expect(sandbox.requests).toHaveLength(3);
});

test('restock.ts names a bad row and sends nothing', async () => {
  const { url, keys, sandbox, close } = await serveSandbox();
  await installed.write('bad.csv', 'petId,quantity\n1,5\n2,five\n');
  const { code, stderr } = await installed.run('examples/restock.ts', {
    args: ['bad.csv'],
    env: { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: keys.pro },
  });
  await close();
  expect(code).toBe(1);
  expect(stderr).toContain('bad.csv, row 3: expected petId and quantity, not "2,five"');
  expect(sandbox.requests).toHaveLength(0);
});
