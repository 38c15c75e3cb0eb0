import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as main from 'petstore-inventory';
import * as node from 'petstore-inventory/node';
import * as otel from 'petstore-inventory/otel';
import * as redis from 'petstore-inventory/redis';
import * as sandbox from 'petstore-inventory/sandbox';
import * as undici from 'petstore-inventory/undici';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { ROOT } from './support/installed-package.ts';
import { samplesOf } from './support/samples.ts';

const PATH = join(ROOT, 'AGENTS.md');
const DOORS: Record<string, object> = {
  '.': main,
  './node': node,
  './otel': otel,
  './redis': redis,
  './sandbox': sandbox,
  './undici': undici,
};
const rows = Array.from(
  readFileSync(PATH, 'utf8').matchAll(/^\| `petstore-inventory(\S*)` \| (.+) \|$/gm),
  ([, door = '', names = '']) => ({
    door: `.${door}`,
    names: Array.from(names.matchAll(/`(\w+)`/g), ([, name = '']) => name),
  }),
);

test('AGENTS.md is in the package, and has at most 8 KB', () => {
  expect(manifest.files).toContain('AGENTS.md');
  expect(statSync(PATH).size).toBeLessThanOrEqual(8_000);
});

test('AGENTS.md names every entry point, and only what it exports', () => {
  const doors = Object.keys(manifest.exports).filter((door) => !door.endsWith('.json'));
  expect(rows.map(({ door }) => door).toSorted()).toEqual(doors.toSorted());
  expect(rows.flatMap(({ door, names }) => names.filter((name) => !(name in (DOORS[door] ?? {}))))).toEqual([]);
  expect(rows.every(({ names }) => names.length > 0)).toBe(true);
});

test('AGENTS.md shows ten tasks, each with a sample', () => {
  expect(readFileSync(PATH, 'utf8').match(/^\d+\. /gm)).toHaveLength(10);
  expect(samplesOf('AGENTS.md')).toHaveLength(10);
});
