import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PetStoreClient, reply } from 'petstore-inventory';
import { serveSandbox } from 'petstore-inventory/node';
import { createSandbox } from 'petstore-inventory/sandbox';
import { expect, onTestFinished, test, vi } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;
const page = readFileSync(join(root, 'docs/sandbox.md'), 'utf8');
const samples = [...page.matchAll(/```ts (\S+)\n(.*?)```/gs)].map(([, kind = '', code = '']) => ({ kind, code }));
const inProcess = samples.filter(({ kind }) => kind !== 'node:test');
const ofNode = samples.filter(({ kind }) => kind === 'node:test');

/** Runs a sample as the body of a function; what it imports is handed to it, and its `test` runs at once. */
async function run(code: string): Promise<void> {
  const running: Promise<void>[] = [];
  const runTest = (_title: string, body: () => Promise<void>) => running.push(body());
  const given = { PetStoreClient, reply, createSandbox, serveSandbox, expect, vi, test: runTest };
  const body = new Function(
    ...Object.keys(given),
    `return (async () => { ${stripTypeScriptTypes(code.replace(/^import .*$/gm, ''))} })();`,
  );
  await body(...Object.values(given));
  await Promise.all(running);
}

test.each(inProcess)('the $kind sample of docs/sandbox.md passes', async ({ code }) => {
  expect.hasAssertions();
  await run(code);
});

test.each(ofNode)('the $kind sample of docs/sandbox.md passes under node --test', async ({ code }) => {
  const folder = mkdtempSync(join(root, 'node_modules/.sandbox-sample-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'sample.test.mjs');
  writeFileSync(
    file,
    stripTypeScriptTypes(code)
      .replace("'petstore-inventory/sandbox'", `'${join(root, 'src/sandbox/index.ts')}'`)
      .replace("'petstore-inventory'", `'${join(root, 'src/index.ts')}'`),
  );
  const { stdout } = await promisify(execFile)(process.execPath, ['--test', '--test-reporter=tap', file], {
    env: { PATH: process.env.PATH },
  });
  expect(stdout).toContain('# pass 1');
});

test('docs/sandbox.md has a sample for each of the three test runners', () => {
  expect(samples.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['vitest', 'jest', 'node:test']));
});
