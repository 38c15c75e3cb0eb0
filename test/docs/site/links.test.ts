import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GUIDES, PAGES, SITE } from './support/site.ts';

test('The site has a page for every guide, and more for symbols than for guides', () => {
  expect(GUIDES.map(({ page }) => page).filter((page) => !PAGES.includes(page))).toEqual([]);
  expect(PAGES.length).toBeGreaterThan(100);
});

test('No link of the site is dead: page, picture or place on a page', () => {
  const dead = PAGES.flatMap((page) =>
    linksOf(page)
      .filter((link) => !isExternal(link) && !leadsSomewhere(page, link))
      .map((link) => `${page}: ${link}`),
  );
  expect(dead).toEqual([]);
});

test('Links to other sites are full https addresses', () => {
  const external = new Set(PAGES.flatMap((page) => linksOf(page).filter(isExternal)));
  expect([...external].filter((link) => !/^https:\/\/[a-z0-9.-]+\.[a-z]{2,}(\/|$)/.test(link))).toEqual([]);
});

test('Every link to a heading shows words and not only the anchor', () => {
  const wordless = PAGES.filter((page) => /<a href="#[^"]*"><span>\s*(\(\))?\s*<\/span>/.test(read(page)));
  expect(wordless).toEqual([]);
});

const texts = new Map<string, string>();

function read(path: string): string {
  const known = texts.get(path) ?? readFileSync(join(SITE, path), 'utf8');
  texts.set(path, known);
  return known;
}

/** Code that shows tags has them escaped, so every attribute is one of the page's own. */
function linksOf(page: string): string[] {
  const found = Array.from(read(page).matchAll(/\s(?:href|src)="([^"]*)"/g), ([, link = '']) => link.replaceAll('&amp;', '&'));
  return [...new Set(found)].filter((link) => link !== '' && link !== '#' && !link.startsWith('data:'));
}

function isExternal(link: string): boolean {
  return /^[a-z]+:/.test(link);
}

function leadsSomewhere(page: string, link: string): boolean {
  const { pathname, hash } = new URL(link, `http://site/${page}`);
  const path = decodeURIComponent(pathname.slice(1)) || 'index.html';
  if (!existsSync(join(SITE, path))) return false;
  return hash === '' || read(path).includes(`id="${decodeURIComponent(hash.slice(1))}"`);
}
