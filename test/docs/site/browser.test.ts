import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { isBrowserless, launchBrowser } from '../../support/browser.ts';
import { ROOT } from '../support/installed-package.ts';
import { faintTexts } from './support/faint-texts.ts';
import { GUIDES, PAGES, serveSite } from './support/site.ts';

let browser: Browser;
let site: Awaited<ReturnType<typeof serveSite>>;
beforeAll(async () => {
  if (isBrowserless) return;
  site = await serveSite();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});

/** The pictures that move. */
const MOVING = globSync('*.svg', { cwd: join(ROOT, 'docs') }).filter((name) =>
  /@keyframes|<animate/.test(readFileSync(join(ROOT, 'docs', name), 'utf8')),
);

const DESKTOP = { viewport: { width: 1_280, height: 900 } } as const;
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true } as const;
const SYMBOL = 'classes/petstore-inventory.PetStoreClient.html';

/** Opens a page. Fails the test if the browser logs an error or sends a request to another server. */
async function opened({ onTestFinished }: TestContext, path: string, options: BrowserContextOptions = DESKTOP): Promise<Page> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()));
  page.on('response', (response) => response.ok() || complaints.push(`${response.status()} ${response.url()}`));
  page.on(
    'request',
    (request) => /^(?:data:|blob:)/.test(request.url()) || request.url().startsWith(site.url) || complaints.push(request.url()),
  );
  onTestFinished(async () => {
    await context.close();
    expect(complaints).toEqual([]);
  });
  await show(page, path);
  return page;
}

/** Goes to a page and waits until its scripts have made the menu and shown the page, which they hide at first. */
async function show(page: Page, path: string): Promise<void> {
  await page.goto(`${site.url}${path}`);
  await page.locator('.tsd-navigation a', { hasText: GUIDES[0]?.title ?? '' }).waitFor({ state: 'attached' });
  await page.locator('.col-content').waitFor({ state: 'visible' });
}

describe.skipIf(isBrowserless).concurrent('The site in a browser', () => {
  test('begins with the README, and its menu lists the guides in order', async (context) => {
    const page = await opened(context, 'index.html');
    expect(await page.locator('.col-content h1').allTextContents()).toEqual(['petstore-inventory']);
    const groups = page.locator('#tsd-nav-container > li > details');
    expect(await groups.locator('> summary').allTextContents()).toEqual(['Start', 'Tasks', 'Running', 'Reference', 'Symbols']);
    const menu = await groups.locator('> div > ul > li > a').allTextContents();
    expect(menu.slice(0, GUIDES.length)).toEqual(GUIDES.map(({ title }) => title));
  });

  test('shows the guides of each group, and keeps a group closed that the reader has closed', async (context) => {
    const page = await opened(context, 'index.html');
    const open = async () =>
      Promise.all(GUIDES.map(({ title }) => page.locator('.tsd-navigation').getByRole('link', { name: title, exact: true }).isVisible()));
    expect(await open()).toEqual(GUIDES.map(() => true));
    await page.locator('.tsd-navigation summary', { hasText: 'Running' }).click();
    await show(page, 'documents/bulk.html');
    expect(await open()).toEqual(GUIDES.map(({ group }) => group !== 'Running'));
  });

  test('leads from its menu to a guide, and from there to another guide and to a place in it', async (context) => {
    const page = await opened(context, 'index.html');
    await page.locator('.tsd-navigation').getByRole('link', { name: 'Getting started', exact: true }).click();
    await page.locator('.col-content').getByRole('link', { name: 'Errors', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Errors' }).waitFor();
    await page.locator('.tsd-page-navigation').getByRole('link', { name: 'RateLimitError (rate-limit)' }).click();
    await expect.poll(() => page.url()).toMatch(/errors\.html#ratelimiterror-rate-limit$/);
  });

  test('has no dead link in the menu that its scripts make', async (context) => {
    const page = await opened(context, SYMBOL);
    const links = await page.locator('.tsd-navigation a').evaluateAll((anchors) => anchors.map((anchor) => anchor.getAttribute('href')));
    const paths = links.map((link) => new URL(link ?? '', page.url()).pathname.slice(1));
    expect(paths.length).toBeGreaterThan(100);
    expect(paths.filter((path) => !PAGES.includes(path))).toEqual([]);
  });

  test.for([
    {
      text: 'listInventory',
      option: /PetStoreClient\.listInventory$/,
      address: /PetStoreClient\.html#listinventory$/,
      heading: 'listInventory',
    },
    { text: 'RateLimitError', option: /RateLimitError$/, address: /classes\/.*RateLimitError\.html$/, heading: 'Class RateLimitError' },
  ])('finds $text and opens it', async ({ text, option, address, heading }, context) => {
    const page = await opened(context, 'index.html');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('combobox').fill(text);
    await page.locator('#tsd-search-results').getByRole('option').filter({ hasText: option }).first().click();
    await page.waitForURL(address);
    expect(await page.getByRole('heading', { name: heading }).first().isVisible()).toBe(true);
  });

  test.for([
    ['ENOTFOUND', 'Addresses and domains'],
    ['HTTPS_PROXY', 'Networks'],
    ['client certificate', 'Networks'],
    ['several processes', 'One quota, many processes'],
    ['progress bar', 'Many pets at once'],
    ['semicolon', 'The command line'],
    ['Prometheus', 'Recipes'],
    ['Jest', 'The sandbox'],
  ] as const)('finds %s, which only a guide mentions, in "%s"', async ([text, title], context) => {
    const page = await opened(context, 'index.html');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('combobox').fill(text);
    const found = page.locator('#tsd-search-results').getByRole('option');
    await found.first().waitFor();
    expect((await found.allTextContents()).slice(0, 2)).toContain(title);
    await found.getByText(title, { exact: true }).click();
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
  });

  test('fits a phone: no page scrolls sideways, and every picture is shown', async (context) => {
    const page = await opened(context, 'index.html', PHONE);
    const seen: { path: string; width: number; pictures: string[] }[] = [];
    for (const path of ['index.html', SYMBOL, 'modules/petstore-inventory.html', ...GUIDES.map((guide) => guide.page)]) {
      await show(page, path);
      seen.push({ path, ...(await page.evaluate(measure)) });
    }
    expect(seen.filter(({ width }) => width > PHONE.viewport.width)).toEqual([]);
    const pictures = new Set(seen.flatMap((one) => one.pictures));
    expect(pictures).toEqual(
      new Set(['petstore.svg', 'limits.svg', 'limits.candidates.svg', 'sandbox.png', 'trace.svg', 'performance.svg']),
    );
  });

  test('shows pictures on a phone large enough to read their words', async (context) => {
    const page = await opened(context, 'index.html', PHONE);
    const scales: number[] = [];
    for (const path of ['index.html', ...GUIDES.map((guide) => guide.page)]) {
      await show(page, path);
      scales.push(...(await page.locator('.col-content img').evaluateAll(scalesOf)));
    }
    expect(scales.length).toBeGreaterThan(5);
    expect(scales.filter((scale) => scale < 0.9)).toEqual([]);
  });

  test.for(MOVING)('%s has a first frame: a command with its output', async (name, context) => {
    const page = await opened(context, 'index.html');
    await page.setContent(readFileSync(join(ROOT, 'docs', name), 'utf8'));
    const visible = await page.locator('svg').evaluate((svg) => {
      for (const animation of svg.getAnimations({ subtree: true })) {
        animation.pause();
        animation.currentTime = 0;
      }
      const texts = Array.from(svg.querySelectorAll('text'));
      return texts.filter((text) => getComputedStyle(text).opacity === '1').map((text) => text.textContent);
    });
    expect(visible[0]).toMatch(/^\$ /);
    expect(visible.length).toBeGreaterThan(4);
  });

  test('scrolls wide tables and long code inside their own boxes on a phone', async (context) => {
    const page = await opened(context, 'documents/performance.html', PHONE);
    const hasMore = ({ scrollWidth, clientWidth }: Element) => scrollWidth > clientWidth;
    expect(await page.locator('table').first().evaluate(hasMore)).toBe(true);
    await show(page, 'index.html');
    expect(await page.locator('pre > code').first().evaluate(hasMore)).toBe(true);
  });

  test('opens its menu on a phone, and leads on from there', async (context) => {
    const page = await opened(context, 'index.html', PHONE);
    const guide = page.locator('.tsd-navigation').getByRole('link', { name: 'Large inventories', exact: true });
    expect(await guide.isVisible()).toBe(false);
    await page.getByRole('link', { name: 'Menu' }).tap();
    await guide.tap();
    await page.getByRole('heading', { level: 1, name: 'Large inventories' }).waitFor();
  });

  test.for(['light', 'dark'] as const)(
    'can be read in %s: every text has a contrast of at least 4.5 to 1',
    async (colorScheme, context) => {
      const page = await opened(context, 'index.html', { ...DESKTOP, colorScheme });
      const faint: string[] = [];
      for (const path of ['index.html', SYMBOL, 'documents/errors.html', 'documents/performance.html']) {
        await show(page, path);
        faint.push(...(await page.evaluate(faintTexts)).map((text) => `${path}: ${text}`));
      }
      expect(faint).toEqual([]);
    },
  );

  test('switches between dark and light, and stays so on the next page', async (context) => {
    const page = await opened(context, 'index.html', { ...DESKTOP, colorScheme: 'light' });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.getByText('Settings').click();
    await page.getByLabel('Theme').selectOption('dark');
    const dark = await ground();
    await show(page, 'documents/errors.html');
    expect([light === dark, await ground()]).toEqual([false, dark]);
  });
});

/** How much of its own size each picture has, of those drawn for text of at least 12 pixels. Runs in the page. */
async function scalesOf(elements: Element[]): Promise<number[]> {
  const images = elements.filter((element) => element instanceof HTMLImageElement && element.src.endsWith('.svg'));
  return images.map((image) => image.getBoundingClientRect().width / (image instanceof HTMLImageElement ? image.naturalWidth : 0));
}

/** How wide the page is, and which of its pictures are whole. Runs in the page. */
async function measure(): Promise<{ width: number; pictures: string[] }> {
  const images = Array.from(document.querySelectorAll<HTMLImageElement>('.col-content img'));
  await Promise.all(images.map((image) => image.decode()));
  const shown = images.filter((image) => image.getBoundingClientRect().width > 0 && image.naturalWidth > 0);
  return { width: document.documentElement.scrollWidth, pictures: shown.map((image) => image.src.replace(/.*\//, '')) };
}
