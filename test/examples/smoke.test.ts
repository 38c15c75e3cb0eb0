import { type ServedSandbox, serveSandbox } from 'petstore-inventory/node';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type InstalledPackage, installPackage } from '../docs/support/installed-package.ts';

let installed: InstalledPackage;
let served: ServedSandbox;
let env: Record<string, string>;

beforeAll(async () => {
  installed = await installPackage();
  await installed.copy('examples/smoke.ts');
});
beforeEach(async () => {
  served = await serveSandbox();
  // Production's address is there too, and is not asked.
  env = { PETSTORE_BASE_URL: served.url, PETSTORE_STAGING_BASE_URL: served.stagingUrl, PETSTORE_API_KEY: served.keys.free };
  return () => served.close();
});
afterAll(() => installed[Symbol.asyncDispose]());

test('smoke.ts reports that staging works, and leaves it unchanged', async () => {
  const before = [...served.sandbox.staging.inventory];
  const { code, stdout, stderr } = await installed.run('examples/smoke.ts', { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n')).toEqual([
    `staging at ${served.stagingUrl}`,
    'ok    lists the stock: 12 pets',
    expect.stringMatching(/^ok {4}reports its limits: 59 of 60 requests left until \S+Z$/),
    expect.stringMatching(/^ok {4}sets a quantity, and puts it back: pet 1 stands at \d+ again$/),
    'ok    rejects an unknown pet: 404 pet_missing',
    'ok    refuses a wrong key: 401 invalid_key',
    '',
  ]);
  expect([...served.sandbox.staging.inventory]).toEqual(before);
  expect(served.sandbox.report().requests).toBe(7);
});

test('smoke.ts says that the key is wrong, sends nothing more, and ends with 1', async () => {
  const run = await installed.run('examples/smoke.ts', { env: { ...env, PETSTORE_API_KEY: 'wrong' } });
  expect(run).toEqual({
    code: 1,
    stdout: `staging at ${served.stagingUrl}\nFAIL  lists the stock: Cannot list the inventory: the service answered 401 invalid_key: The API key is not valid\n`,
    stderr: '',
  });
  expect(served.sandbox.requests).toHaveLength(1);
});

test('smoke.ts restores the quantity if its check fails, and continues', async () => {
  const before = [...served.sandbox.staging.inventory];
  // The list after the change: the second attempt of it fails as the first.
  served.sandbox.faults.add({
    when: ({ method }) => method === 'GET' && served.sandbox.requests.some((seen) => seen.method === 'PATCH'),
    times: 1,
    status: 400,
  });
  const { code, stdout } = await installed.run('examples/smoke.ts', { env });
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /\nFAIL {2}sets a quantity, and puts it back: Cannot list the inventory: the service answered 400 .*\nok .*\nok .*\n$/,
  );
  expect([...served.sandbox.staging.inventory]).toEqual(before);
});

test('smoke.ts restores the quantity when it is interrupted', async () => {
  const before = [...served.sandbox.staging.inventory];
  const takeBack = served.sandbox.faults.add({
    when: ({ method }) => method === 'GET' && served.sandbox.requests.some((seen) => seen.method === 'PATCH'),
    fail: 'stall',
  });
  await using program = installed.start('examples/smoke.ts', { env });
  await expect.poll(() => served.sandbox.requests.length).toBeGreaterThan(3);
  takeBack();
  expect(await program.end('SIGINT')).toBe(1);
  expect(program.told).toContain('FAIL  sets a quantity, and puts it back: interrupted\n');
  expect([...served.sandbox.staging.inventory]).toEqual(before);
});

test('smoke.ts refuses the address of production, and ends with 1', async () => {
  const { code, stderr } = await installed.run('examples/smoke.ts', { env: { ...env, PETSTORE_STAGING_BASE_URL: '' } });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'Cannot make a client without the staging address: give `baseUrl.staging` or set PETSTORE_STAGING_BASE_URL\n',
  });
  expect(served.sandbox.requests).toHaveLength(0);
});
