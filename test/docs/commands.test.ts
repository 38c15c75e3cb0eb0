import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type InstalledPackage, installPackage } from './support/installed-package.ts';
import { samplesOf } from './support/samples.ts';

const commands = samplesOf('README.md', 'sh').filter(({ code }) => code.includes('npx petstore '));
let installed: InstalledPackage;

beforeAll(async () => {
  installed = await installPackage();
});
afterAll(() => installed[Symbol.asyncDispose]());

test.for(commands)('$place runs as it is written', async ({ code }) => {
  const { folder, env } = installed;
  const { stdout } = await promisify(execFile)('sh', ['-e', '-c', code.replaceAll('npx petstore', PETSTORE)], { cwd: folder, env });
  expect(stdout).toContain('pet 1: 12 (available)');
  expect(stdout).toMatch(/minute +299 of 300 left/);
  expect(stdout).toMatch(/\+ 1 +40/);
});

/** What npx finds where the package is installed. */
const PETSTORE = 'node node_modules/petstore-inventory/dist/cli.js';
