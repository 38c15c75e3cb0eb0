import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSource } from '../support/source.ts';
import { ROOT } from './support/installed-package.ts';

const files = readSource();
const design = readFileSync(join(ROOT, 'docs/design.md'), 'utf8');
const [, picture = ''] = /^```\n(.*?)^```$/ms.exec(design) ?? [];
const [, way = ''] = /^## The way of one update\n(.*?)^## /ms.exec(design) ?? [];

/** Folders and files of the picture, from its top. */
const layers = Array.from(picture.matchAll(/^ +([\w-]+(?:\/[\w-]+)*(?:\/|\.ts)) \./gm), ([, name = '']) => name);

/** The place of a file in the picture; a file of a subfolder that is shown belongs to that. */
const placeOf = (path: string) => layers.findLastIndex((layer) => path.startsWith(layer));

test('docs/design.md lists the layers so that no import points up', () => {
  const upwards = files.flatMap(({ path, imports }) =>
    imports.filter((to) => placeOf(path) > placeOf(to) && placeOf(to) >= 0).map((to) => `${path} -> ${to}`),
  );
  expect(layers.length).toBeGreaterThan(10);
  expect(layers.filter((layer) => !files.some(({ path }) => path.startsWith(layer)))).toEqual([]);
  expect(upwards).toEqual([]);
});

test('docs/design.md describes the way of an update in ten lines, by files that exist', () => {
  const named = Array.from(way.matchAll(/`([\w/-]+\.ts)`/g), ([, name = '']) => name);
  expect(named.filter((name) => !files.some(({ path }) => path === name))).toEqual([]);
  expect(way.match(/^\d+\. /gm)).toHaveLength(10);
});
