import { spawn } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ServedSandbox, serveSandbox } from '../../src/node/serve.ts';
import { buildCli } from './support/build-cli.ts';

let cli: { folder: string; file: string };
let served: ServedSandbox;

beforeAll(async () => {
  cli = await buildCli();
});
afterAll(() => rm(cli.folder, { recursive: true }));

beforeEach(async () => {
  served = await serveSandbox({ pets: 3 });
  return () => served.close();
});

const environment = () => ({ PATH: process.env.PATH, PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro, HOME: cli.folder });

interface Ended {
  code: number | null;
  err: string;
}

/** Runs the program with a stdout whose reader goes at once. */
function runUnread(words: string[], env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [cli.file, ...words], { env: { ...environment(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let err = '';
  child.stdout.destroy();
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, err }));
  });
}

describe('petstore in a process whose stdout nobody reads', () => {
  test('ends a list quietly', async () => {
    expect(await runUnread(['list'])).toEqual({ code: 0, err: '' });
  });

  test('ends a sync with its own exit code', async () => {
    const csv = join(cli.folder, 'wanted.csv');
    await writeFile(csv, 'petId,quantity\n1,777\n99,1\n');
    expect(await runUnread(['sync', csv])).toEqual({ code: 4, err: '' });
    expect(served.sandbox.inventory.get(1)?.quantity).toBe(777);
  });

  test('tells how a sync that was stopped goes on', async () => {
    const csv = join(cli.folder, 'refused.csv');
    await writeFile(csv, 'petId,quantity\n1,777\n');
    const { code, err } = await runUnread(['sync', csv], { PETSTORE_API_KEY: 'wrong' });
    expect(code).toBe(3);
    expect(err).toContain('check PETSTORE_API_KEY: 0 pets updated, 1 pet left; run it again for the rest');
  });
});
