import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as door from 'petstore-inventory';
import { expect, test } from 'vitest';
import { CALL_DEFAULTS } from '../../src/options/call-options.ts';
import { resolveOptions } from '../../src/options/client-options.ts';
import { ROOT } from './support/installed-package.ts';
import { membersOf } from './support/members-of.ts';

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const errorsGuide = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
const limitsGuide = readFileSync(join(ROOT, 'docs/limits.md'), 'utf8');
const options = tableAfter(readme, '## Options');
const clientOptions = membersOf('src/options/client-options.ts', 'PetStoreClientOptions');

test('README lists every option of PetStoreClientOptions and no other', () => {
  expect(options.map(([name]) => name)).toEqual(expect.arrayContaining(clientOptions.map(({ name }) => name)));
  expect(options).toHaveLength(clientOptions.length);
});

test('README shows the defaults that the options declare', () => {
  const declared = clientOptions.filter((option) => option.default !== undefined).map((option) => [option.name, option.default]);
  expect(options.map(([name, value]) => [name, value])).toEqual(expect.arrayContaining(declared));
});

test('README shows the defaults that the options have', () => {
  const { call, fetch, ...client } = resolveOptions({ apiKey: 'key', baseUrl: 'https://shop.example/v1' });
  const resolved = { ...client, ...call, fetch: 'globalThis.fetch', environment: "'production'", int64: `'${client.int64}'` };
  const named = new Map(Object.entries(resolved).map(([name, value]) => [name, String(value)]));
  const unset = new Set(['required', 'none', 'false', "this process's memory", 'learned from the headers, free until then']);
  const told = options.filter(([, value = '']) => !unset.has(value));
  expect(told.map(([name = '']) => [name, named.get(name)])).toEqual(told.map(([name, value]) => [name, value]));
});

test('README names the variables that the options read, and no other', () => {
  const source = ['base-url', 'client-options'].map((name) => readFileSync(join(ROOT, `src/options/${name}.ts`), 'utf8')).join('');
  const read = new Set(Array.from(source.matchAll(/'(PETSTORE_\w+)'/g), ([, name]) => name));
  const told = new Set(options.flatMap(([, , variables = '']) => Array.from(variables.matchAll(/PETSTORE_\w+/g), ([name]) => name)));
  expect(told).toEqual(read);
});

test('README names every option of a call', () => {
  const sentence = /^Each call takes .*?\./m.exec(readme)?.[0] ?? '';
  const names = Array.from(sentence.matchAll(/`(\w+)`/g), ([, name]) => name);
  expect(names.toSorted()).toEqual(Object.keys(CALL_DEFAULTS).toSorted());
});

test('the guide to errors lists every class with its kind', () => {
  const classes = membersOf('src/errors.ts', 'PetStoreFailure').map(({ name }) => name);
  const listed = Array.from(errorsGuide.matchAll(/^### (\w+) \(([\w-]+)\)$/gm), ([, name, kind]) => [name, kind]);
  expect(listed.map(([name]) => name)).toEqual(classes);
  expect(listed.map(([name = '']) => [name, kindOf(name)])).toEqual(listed);
});

test('README and the guide to limits name every event', () => {
  const events = membersOf('src/events.ts', 'ClientEvents').map(({ name }) => name);
  const sentence = /^Events: .*?\./m.exec(readme)?.[0] ?? '';
  expect(Array.from(sentence.matchAll(/`(\w+)`/g), ([, name]) => name)).toEqual(events);
  const rows = tableAfter(limitsGuide, '## What to watch');
  expect(rows.flatMap(([names = '']) => names.replaceAll('`', '').split(', '))).toEqual(events);
});

test.each([
  ['docs/bulk.md', '## Options', membersOf('src/sync/sync-options.ts', 'SyncOptions')],
  ['docs/sandbox.md', '## Options', membersOf('src/sandbox/options.ts', 'SandboxOptions')],
  ['docs/sandbox.md', '## What a sandbox has', membersOf('src/sandbox/sandbox.ts', 'Sandbox')],
])('%s lists in "%s" what the types have', (document, heading, members) => {
  const rows = tableAfter(readFileSync(join(ROOT, document), 'utf8'), heading);
  const listed = rows.flatMap(([names = '']) => Array.from(names.matchAll(/(?<=^|`)\w+/g), ([name]) => name));
  expect(listed.toSorted()).toEqual(members.map(({ name }) => name).toSorted());
});

/** The rows of the first table after a heading, each cell without its code marks. */
function tableAfter(text: string, heading: string): string[][] {
  const rows = text
    .slice(text.indexOf(`\n${heading}\n`))
    .match(/(?:^\|.*\n)+/m)?.[0]
    .trimEnd()
    .split('\n');
  return (rows ?? []).slice(2).map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replace(/^`([^`]*)`$/, '$1')),
  );
}

function kindOf(name: string): unknown {
  const made: unknown = Reflect.construct(Reflect.get(door, name), ['text', { argument: 'a', option: 'o', reason: 'schema' }]);
  return typeof made === 'object' && made !== null ? Reflect.get(made, 'kind') : undefined;
}
