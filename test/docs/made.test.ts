import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT } from './support/installed-package.ts';

test.for([
  ['docs/limits.md', 'docs/limits.log.ts'],
  ['docs/compare.md', 'docs/compare/compare.ts'],
  ['docs/trace.svg', 'docs/trace.picture.ts'],
  ['docs/limits.candidates.svg', 'docs/limits.candidates.ts'],
] as const)('%s is what %s prints', async ([document, script]) => {
  const args = ['--experimental-transform-types', '--no-warnings', join(ROOT, script), '--print'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env: {} });
  expect(await readFile(join(ROOT, document), 'utf8')).toBe(stdout);
});
