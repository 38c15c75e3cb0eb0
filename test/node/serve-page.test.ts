import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isBrowserless, launchBrowser } from '../support/browser.ts';
import { started } from './served.ts';

let browser: Browser;
beforeAll(async () => {
  if (!isBrowserless) browser = await launchBrowser();
});
afterAll(() => browser?.close());

/** Opens the page. Fails the test if the page logs an error or sends a request to another server. */
async function opened(pageUrl: string, options: { width?: number; colorScheme?: 'light' | 'dark' } = {}): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1_200, height: 900 },
    colorScheme: options.colorScheme ?? 'light',
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on(
    'console',
    (message) => message.type() === 'error' && message.text().includes('Content Security') && complaints.push(message.text()),
  );
  page.on('request', (request) => request.url().startsWith(pageUrl) || request.url().startsWith('data:') || complaints.push(request.url()));
  onTestFinished(async () => {
    await context.close();
    expect(complaints).toEqual([]);
  });
  await page.goto(pageUrl);
  await page.getByText('live', { exact: true }).waitFor();
  return page;
}

/** Passes bytes on to a server for one test, until its connections are cut. */
async function relayed(pageUrl: string): Promise<{ relayUrl: string; cut: () => void }> {
  const sockets = new Set<Socket>();
  const relay = createServer((near) => {
    const far = connect(Number(new URL(pageUrl).port), '127.0.0.1');
    for (const socket of [near, far]) sockets.add(socket.on('error', () => {}));
    near.pipe(far).pipe(near);
  });
  const cut = () => sockets.forEach((socket) => void socket.destroy());
  onTestFinished(() => {
    relay.close();
    cut();
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const address = relay.address();
  return { relayUrl: `http://127.0.0.1:${typeof address === 'object' && address?.port}/`, cut };
}

describe.skipIf(isBrowserless)('the page of a served sandbox', () => {
  test('shows the keys, the windows and the inventory', async () => {
    const { pageUrl, keys, url, stagingUrl } = await started({ pets: [{ petId: 9_007_199_254_740_993n, quantity: 4, status: 'sold' }] });
    const page = await opened(pageUrl);
    await page.getByText(keys.business).waitFor();
    expect(await page.locator('#address').textContent()).toBe(url);
    expect(await page.locator('#staging-address').textContent()).toBe(stagingUrl);
    expect(await page.getByRole('row', { name: '9007199254740993 4 sold' }).count()).toBe(1);
    await expect.poll(() => page.locator('#keys li').first().textContent()).toMatch(/60 of 60 left, resets in \d+ s/);
  });

  test('shows what a client does: its answers, its 429s, its penalty', async () => {
    const { pageUrl, url, keys } = await started({ plans: { free: { requestsPerMinute: 1, requestsPerDay: 9 } }, clock: () => 30_000 });
    const page = await opened(pageUrl);
    const init = { headers: { authorization: `Bearer ${keys.free}` } };
    await Promise.all([fetch(`${url}/inventory`, init), fetch(`${url}/inventory`, init), fetch(`${url}/inventory`, init)]);
    await page.locator('#timeline li').nth(2).waitFor();
    expect(await page.locator('#timeline b').allTextContents()).toEqual(['429', '429', '200']);
    expect(await page.locator('#timeline li').first().textContent()).toContain('rate_limited, during penalty');
    await page.getByText('penalty', { exact: true }).waitFor();
    expect(await page.locator('#totals').textContent()).toBe('3 in all, 2 with 429, 1 during a penalty, 0 bans');
  });

  test('the reckless demo client gets its key banned, with the keyboard alone', async () => {
    const { pageUrl, sandbox } = await started({ plans: { free: { requestsPerMinute: 3 } }, clock: () => 30_000 });
    const page = await opened(pageUrl);
    await page.getByText(sandbox.keys.free).waitFor();
    await page.getByRole('button', { name: 'Start a reckless client' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('banned', { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    expect(sandbox.report()).toMatchObject({ bans: 1 });
    await expect.poll(() => page.locator('#totals').textContent()).toMatch(/, 1 ban$/);
  });

  test('the patient demo client updates pets and stays out of trouble', async () => {
    const { pageUrl, sandbox } = await started();
    const page = await opened(pageUrl);
    await page.getByText(sandbox.keys.free).waitFor();
    await page.getByRole('button', { name: 'Start a patient client' }).click();
    await page.locator('#timeline').getByText('PATCH').first().waitFor();
    expect(sandbox.report()).toMatchObject({ rateLimited: 0 });
  });

  test.each([
    ['date', 30],
    ['missing', 60],
  ] as const)('the patient demo client also waits where Retry-After is %s', async (retryAfter, seconds) => {
    const plans = { free: { requestsPerMinute: 1 } };
    const { pageUrl, sandbox } = await started({ plans, retryAfter, clock: () => 30_000 });
    const page = await opened(pageUrl);
    await page.getByText(sandbox.keys.free).waitFor();
    await page.getByRole('button', { name: 'Start a patient client' }).click();
    await page.getByText(`The patient client was asked to wait ${seconds} s and waits`).waitFor();
    expect(sandbox.report()).toMatchObject({ requests: 2 });
  });

  test('the patient demo client waits no negative time where the date of Retry-After has passed', async () => {
    const headers = { 'retry-after': new Date(0).toUTCString() };
    const { pageUrl, sandbox } = await started({ faults: [{ status: 429, headers }] });
    const page = await opened(pageUrl);
    await page.getByText(sandbox.keys.free).waitFor();
    await page.getByRole('button', { name: 'Start a patient client' }).click();
    await expect.poll(() => sandbox.report().requests).toBeGreaterThan(1);
    expect(await page.locator('#demo-note-patient').textContent()).toBe('The patient client is running');
  });

  test('says that both demo clients run', async () => {
    const { pageUrl, sandbox } = await started();
    const page = await opened(pageUrl);
    await page.getByText(sandbox.keys.free).waitFor();
    await page.getByRole('button', { name: 'Start a patient client' }).click();
    await page.getByRole('button', { name: 'Start a reckless client' }).click();
    await expect.poll(() => page.getByText(/^The (patient|reckless) client /).count()).toBe(2);
    await page.getByRole('button', { name: 'Stop the patient client' }).click();
    expect(await page.getByText(/^The patient client /).count()).toBe(0);
  });

  test('shows that there is more to scroll to', async () => {
    const [few, many] = await Promise.all([started({ pets: 3 }), started({ pets: 300 })]);
    const [short, long] = await Promise.all([opened(few.pageUrl), opened(many.pageUrl)]);
    await expect.poll(() => long.locator('#stock-hint').textContent()).toBe(', the first 100 below, scroll for more');
    expect(await short.locator('#stock-hint').textContent()).toBe('');
  });

  test('finds pets by id and by status', async () => {
    const { pageUrl } = await started({
      pets: [
        { petId: 11, quantity: 1 },
        { petId: 25, quantity: 2, status: 'sold' },
      ],
    });
    const page = await opened(pageUrl);
    await page.getByLabel('Search by id or status').fill('25');
    await expect.poll(() => page.locator('#stock td:first-child').allTextContents()).toEqual(['25']);
    await page.getByLabel('Search by id or status').fill('avail');
    await expect.poll(() => page.locator('#stock td:first-child').allTextContents()).toEqual(['11']);
  });

  test('turns the pages of a large stock, and begins at the first for a search', async () => {
    const { pageUrl } = await started({ pets: 250 });
    const page = await opened(pageUrl);
    const ends = async () => {
      const ids = await page.locator('#stock td:first-child').allTextContents();
      return [ids.at(0), ids.at(-1), await page.locator('#stock-place').textContent()];
    };
    await expect.poll(ends).toEqual(['1', '100', '1 to 100']);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(ends).toEqual(['201', '250', '201 to 250']);
    expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Previous' }).click();
    await expect.poll(ends).toEqual(['101', '200', '101 to 200']);
    await page.getByLabel('Search by id or status').fill('25');
    await expect.poll(ends).toEqual(['25', '250', '']);
  });

  test('finds a pet at the end of a million', async () => {
    const { pageUrl } = await started({ pets: 1_000_000 });
    const page = await opened(pageUrl);
    await page.getByLabel('Search by id or status').fill('99999');
    const ids = () => page.locator('#stock td:first-child').allTextContents();
    await expect
      .poll(ids)
      .toEqual([
        '99999',
        '199999',
        ...[2, 3, 4, 5, 6, 7, 8].map((one) => `${one}99999`),
        '999990',
        ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((one) => `99999${one}`),
      ]);
  });

  test('draws what each of two clients sent, had left, and was asked to wait', async () => {
    const { pageUrl, url, keys, sandbox } = await started({ plans: { free: { requestsPerMinute: 2 } }, clock: () => 30_000 });
    const page = await opened(pageUrl);
    const ask = (key: string) => fetch(`${url}/inventory`, { headers: { authorization: `Bearer ${key}` } });
    await Promise.all([ask(keys.free), ask(keys.free), ask(keys.free), ask(keys.pro)]);
    sandbox.clock.advance(5_000);
    await page.getByRole('img', { name: /^free: 3 requests in 5 min, 1 refused/ }).waitFor();
    await page.getByRole('img', { name: /^pro: 1 requests? in 5 min, 0 refused/ }).waitFor();
    const free = page.getByRole('img', { name: /^free/ });
    await expect.poll(() => free.locator('.asked').count()).toBe(1);
    expect(await free.locator('.refused').count()).toBe(1);
    // The free client has nothing left, the other nearly all.
    const levels = await page
      .locator('#graphs polyline')
      .evaluateAll((lines) => lines.map((line) => line.getAttribute('points')?.split(/[ ,]/)[1]));
    expect(levels.map(Number)).toEqual([100, expect.closeTo(0.33, 1)]);
  });

  test('resets the sandbox', async () => {
    const { pageUrl, url, keys, sandbox } = await started();
    const page = await opened(pageUrl);
    await fetch(`${url}/inventory`, { headers: { authorization: `Bearer ${keys.free}` } });
    sandbox.inventory.delete(1);
    await page.locator('#timeline li').first().waitFor();
    await page.getByRole('button', { name: 'Begin anew' }).click();
    await page.getByText('Stock, quotas and requests are reset').waitFor();
    await expect.poll(() => page.locator('#stock tr').count()).toBe(12);
    expect([sandbox.report().requests, await page.locator('#timeline li').count()]).toEqual([0, 0]);
  });

  test('follows a reset from elsewhere, such as one of a script', async () => {
    const { pageUrl, url, keys, sandbox } = await started();
    sandbox.inventory.delete(1);
    const page = await opened(pageUrl);
    await expect.poll(() => page.locator('#stock tr').count()).toBe(11);
    await fetch(`${url}/inventory`, { headers: { authorization: `Bearer ${keys.free}` } });
    await page.locator('#timeline li').first().waitFor();
    await page.getByRole('img', { name: /^free/ }).waitFor();
    sandbox.reset();
    await expect.poll(() => page.locator('#stock tr').count()).toBe(12);
    expect(await page.locator('#timeline li').count()).toBe(0);
    await page.getByText('No key was used in the latest minutes').waitFor();
  });

  test('shows each request once after its connection was lost', async () => {
    const { pageUrl, url, keys } = await started();
    const { relayUrl, cut } = await relayed(pageUrl);
    const page = await opened(relayUrl);
    await fetch(`${url}/inventory`, { headers: { authorization: `Bearer ${keys.free}` } });
    await page.locator('#timeline li').first().waitFor();
    cut();
    await page.getByText('not connected', { exact: true }).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await fetch(`${url}/inventory/1`, { headers: { authorization: `Bearer ${keys.free}` } });
    await expect.poll(() => page.locator('#timeline b').allTextContents()).toContain('405');
    expect(await page.locator('#timeline b').allTextContents()).toEqual(['405', '200']);
  });

  test('shows foreign text as text', async () => {
    const { pageUrl, url, keys } = await started({ pets: [{ petId: 1, quantity: 1, status: '<img src=x onerror=alert(1)>' }] });
    const page = await opened(pageUrl);
    await fetch(`${url}/<b>`, { headers: { authorization: `Bearer ${keys.free}` } });
    await page.getByText('<img src=x onerror=alert(1)>').waitFor();
    expect(await page.locator('main img').count()).toBe(0);
  });

  test('shows bars of one length, and the whole path of a request on a phone', async () => {
    const { pageUrl, url, keys } = await started();
    const page = await opened(pageUrl, { width: 375 });
    await fetch(`${url}/inventory/1234567890123456789`, { headers: { authorization: `Bearer ${keys.free}` } });
    const path = page.locator('#timeline').getByText('/inventory/1234567890123456789');
    await path.waitFor();
    expect(await path.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)).toBe(true);
    const lengths = await page.locator('meter').evaluateAll((meters) => meters.map((meter) => meter.getBoundingClientRect().width));
    expect(new Set(lengths).size).toBe(1);
  });

  test.each(['light', 'dark'] as const)('fits a phone without scrolling sideways, in %s', async (colorScheme) => {
    const { pageUrl } = await started();
    const page = await opened(pageUrl, { width: 360, colorScheme });
    const { width, ground } = await page.evaluate(() => ({
      width: document.documentElement.scrollWidth,
      ground: getComputedStyle(document.body).backgroundColor,
    }));
    expect(width).toBeLessThanOrEqual(360);
    expect(ground).toBe({ light: 'rgb(246, 247, 245)', dark: 'rgb(20, 24, 26)' }[colorScheme]);
  });
});

test('another site cannot reset it: the header is missing, and no preflight allows it', async () => {
  const { pageUrl, sandbox } = await started();
  sandbox.inventory.delete(1);
  expect((await fetch(`${pageUrl}page/reset`, { method: 'POST' })).status).toBe(400);
  const preflight = { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' };
  const allowed = await fetch(`${pageUrl}page/reset`, { method: 'OPTIONS', headers: preflight });
  expect(allowed.headers.get('access-control-allow-origin')).toBeNull();
  expect(sandbox.inventory.size).toBe(11);
});

test('the server serves the page and the description of the service, and nothing else', async () => {
  const { pageUrl } = await started();
  const description: unknown = await (await fetch(`${pageUrl}openapi.json`)).json();
  const missing = await fetch(`${pageUrl}favicon.ico`);
  expect(description).toMatchObject({ openapi: '3.1.0', info: { version: '1.0.0' } });
  expect([missing.status, await missing.json()]).toMatchObject([404, { code: 'not_found', status: 404 }]);
});
