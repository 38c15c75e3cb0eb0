import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { VERSION } from '../src/version.ts';

test('VERSION is that of the package', () => {
  expect(VERSION).toBe(manifest.version);
});

test('VERSION is written in only one file of the source', async () => {
  const folder = join(import.meta.dirname, '../src');
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts'));
  const texts = await Promise.all(names.map(async (name) => ({ name, text: await readFile(join(folder, name), 'utf8') })));
  expect(texts.filter(({ text }) => text.includes(manifest.version)).map(({ name }) => name)).toEqual(['version.ts']);
});
