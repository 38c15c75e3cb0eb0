import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import { GUIDES, SITE } from './support/site.ts';

const lines = readFileSync(join(SITE, 'llms.txt'), 'utf8').split('\n');
const entries = lines.flatMap((line) => {
  const [, title, page, about] = /^- \[(.+?)\]\((.+?)\): (.*)$/.exec(line) ?? [];
  return title === undefined ? [] : [{ title, page: page ?? '', about: about ?? '' }];
});

test('llms.txt describes the package as its manifest does', () => {
  expect(lines.slice(0, 3)).toEqual([`# ${manifest.name}`, '', `> ${manifest.description}`]);
});

test('llms.txt links to every guide in the order of the menu, and to every entry point', () => {
  const guides = entries.filter(({ page }) => page.startsWith('documents/')).map(({ title, page }) => ({ title, page }));
  expect(guides).toEqual(GUIDES.map(({ title, page }) => ({ title, page })));
  const doors = Object.keys(manifest.exports).filter((door) => !door.endsWith('.json'));
  const names = doors.map((door) => (door === '.' ? 'petstore-inventory' : `petstore-inventory/${door.slice(2)}`));
  expect(
    entries
      .slice(guides.length)
      .map(({ title }) => title)
      .toSorted(),
  ).toEqual(names.toSorted());
});

test('llms.txt names pages that exist, each with a sentence', () => {
  expect(entries.filter(({ page }) => !existsSync(join(SITE, page)))).toEqual([]);
  expect(entries.filter(({ about }) => !/^\S.{10,}[.!?]$/.test(about))).toEqual([]);
});
