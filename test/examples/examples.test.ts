import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serveSandbox } from 'petstore-inventory/node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type InstalledPackage, installPackage, ROOT } from '../docs/support/installed-package.ts';

let installed: InstalledPackage;

beforeAll(async () => {
  installed = await installPackage();
  await installed.copy('examples');
});
afterAll(() => installed[Symbol.asyncDispose]());

test('The index names every example', () => {
  const index = readFileSync(join(ROOT, 'examples/README.md'), 'utf8');
  const programs = readdirSync(join(ROOT, 'examples')).filter((name) => name.endsWith('.ts') && name !== 'service.ts');
  expect(programs.filter((name) => !index.includes(`[${name}](${name})`))).toEqual([]);
});

describe.concurrent('Examples', () => {
  test('demo.ts does everything that it promises, without colour if its output is not a terminal', async () => {
    const { code, stdout, stderr } = await installed.run('examples/demo.ts');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toContain('\u001b[');
    expect(stdout).toMatch(/ pet {2}quantity {2}status\n/);
    expect(stdout).toContain('pet 1 stands at 40, 1 request');
    expect(stdout).toMatch(/400 {2}BadRequestError.*401 {2}AuthenticationError.*404 {2}NotFoundError.*429 {2}RateLimitError/s);
    expect(stdout).toMatch(/100 requests, 0 answers with 429, [\d.]+ seconds/);
    expect(stdout).toContain('all of it happened');
  });

  test('demo.ts uses colour if it is asked for, and not with NO_COLOR', async () => {
    const asked = await installed.run('examples/demo.ts', { env: { FORCE_COLOR: '1' } });
    const refused = await installed.run('examples/demo.ts', { env: { NO_COLOR: '1' } });
    expect(asked.stdout).toContain('\u001b[');
    expect(refused.stdout).not.toContain('\u001b[');
  });

  test('list.ts prints every pet of a sandbox', async () => {
    const { code, stdout } = await installed.run('examples/list.ts');
    expect(code).toBe(0);
    expect(stdout.trimEnd().split('\n')).toHaveLength(12);
    expect(stdout).toMatch(/^1 \d+ (available|pending|sold)\n/);
  });

  test('update.ts sets the quantity that it is given', async () => {
    const { stdout } = await installed.run('examples/update.ts', { args: ['3', '17'] });
    expect(stdout).toMatch(/^pet 3 stands at 17 \(\w+\)\nattempts: 1, requests left in this window: 999\n$/);
  });

  test('update.ts without arguments changes nothing and says what it needs', async () => {
    const { code, stderr } = await installed.run('examples/update.ts');
    expect(code).toBe(1);
    expect(stderr).toContain('usage: update.ts <petId> <quantity>');
  });

  test('staging.ts reaches staging by option and by variable, and is refused with a single address', async () => {
    const { code, stdout } = await installed.run('examples/staging.ts');
    expect(code).toBe(0);
    expect(stdout).toMatch(/by option: {.*777.*}\nby variable: {.*777.*}\nrefused: Cannot use "http:.*" as `baseUrl` with the environment/);
  });

  test('errors.ts says what to do about each failure', async () => {
    const { stdout } = await installed.run('examples/errors.ts');
    expect(stdout.trimEnd().split('\n')).toEqual([
      'skip pet -1: there is no such pet',
      'fix `quantity`: Cannot use 1.5 as `quantity`: it must be an integer within ±(2^53−1)',
      'ask for a new key',
      'done',
    ]);
  });

  test('update.ts sets a pet whose id is beyond 2^53', async () => {
    const petId = 2n ** 53n + 1n;
    await using served = await serveSandbox({ pets: [{ petId, quantity: 1 }] });
    const env = { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro };
    const { stdout } = await installed.run('examples/update.ts', { env, args: [String(petId), '17'] });
    expect(stdout).toContain(`pet ${petId} stands at 17`);
  });

  test('Examples reach the service that the variables name', async () => {
    const { url, keys, sandbox, close } = await serveSandbox({ pets: [{ petId: 4, quantity: 44 }] });
    const env = { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: keys.pro };
    const listed = await installed.run('examples/list.ts', { env });
    await installed.run('examples/update.ts', { env, args: ['4', '45'] });
    const advised = await installed.run('examples/errors.ts', { env });
    await close();
    expect(listed.stdout).toBe('4 44 available\n');
    expect(sandbox.inventory.get(4)?.quantity).toBe(45);
    expect(advised.stdout).toContain('skip pet -1');
  });
});
