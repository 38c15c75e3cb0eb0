import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './support/installed-package.ts';

const guides = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
const documents = ['README.md', 'CHANGELOG.md', 'examples/README.md', ...guides.map((name) => `docs/${name}`)];

const withAgents = [...documents, 'AGENTS.md'];

test.for(withAgents)('%s links to files and headings that exist', (document) => {
  expect(linksOf(document).filter((link) => !leadsSomewhere(document, link))).toEqual([]);
});

test.for(withAgents)('%s links to other sites by full https addresses', (document) => {
  const external = allLinksOf(document).filter((link) => /^[a-z]+:/.test(link));
  expect(external.filter((link) => !/^https:\/\/[a-z0-9.-]+\.[a-z]{2,}(\/\S*)?$/.test(link))).toEqual([]);
});

test('typedoc.json puts every guide into exactly one group, and lists no other file', () => {
  const { guides } = JSON.parse(readFileSync(join(ROOT, 'typedoc.json'), 'utf8'));
  expect(Object.values(guides).flat().toSorted()).toEqual(documents.filter((name) => name !== 'README.md').toSorted());
});

test('README links to every guide', () => {
  const missing = documents.filter((name) => name !== 'README.md' && !linksOf('README.md').includes(name));
  expect(missing).toEqual([]);
});

test.for(withAgents)('%s begins with its title, and has no second one', (document) => {
  const text = readFileSync(join(ROOT, document), 'utf8').replace(/^```.*?^```$/gms, '');
  expect(text).toMatch(/^# \S/);
  expect(text.match(/^# /gm)).toHaveLength(1);
});

test.for(withAgents)('%s mentions nothing outside the project', (document) => {
  expect(readFileSync(join(ROOT, document), 'utf8')).not.toMatch(/\bshared\/|\/work\/|\/root\/|\bapi\.md|conventions\.md|service\.md/);
});

/** Links to elsewhere are not followed. */
function linksOf(document: string): string[] {
  return allLinksOf(document).filter((link) => !/^[a-z]+:/.test(link));
}

/** Pictures too. */
function allLinksOf(document: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  return Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, link = '']) => link);
}

function leadsSomewhere(document: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const target = path === '' ? join(ROOT, document) : join(ROOT, dirname(document), path);
  return existsSync(target) && (heading === undefined || headingsOf(target).includes(heading));
}

/** Headings as GitHub names them in links. */
function headingsOf(path: string): string[] {
  return Array.from(readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm), ([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
