import { createServer } from 'node:http';
import { build } from 'esbuild';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isBrowserless, launchBrowser } from '../support/browser.ts';
import type { Place } from './cors-page.ts';
import { started } from './served.ts';

let browser: Browser;
let script: string;
beforeAll(async () => {
  if (isBrowserless) return;
  browser = await launchBrowser();
  script = await bundlePage();
});
afterAll(() => browser?.close());

/** Bundles the page with the built package, and so without the paths of this repository, which lead to its source. */
async function bundlePage(): Promise<string> {
  const entry = new URL('cors-page.ts', import.meta.url).pathname;
  const toText = { bundle: true, minify: true, format: 'esm', write: false, logLevel: 'error' } as const;
  const { outputFiles } = await build({ ...toText, entryPoints: [entry], tsconfigRaw: '{}' });
  return String(outputFiles[0]?.text);
}

/** Serves the page for one test, and gives its origin. */
async function servePage(): Promise<string> {
  const html = `<!doctype html><title>shop</title><script type="module">${script.replaceAll('</script', '<\\/script')}</script>`;
  const server = createServer((_request, response) => void response.setHeader('content-type', 'text/html; charset=utf-8').end(html));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address?.port}`;
}

/** What the calls of a page at this origin gave, or the message with which they failed. */
async function callsFrom(origin: string, place: Place): Promise<unknown> {
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  await page.goto(origin, { waitUntil: 'load' });
  return page.evaluate(`callSandbox(${JSON.stringify(place)}).catch(String)`);
}

describe.skipIf(isBrowserless)('a page of another origin', () => {
  test('calls a sandbox that lists its origin, and reads all headers of the answers', async () => {
    const origin = await servePage();
    const { url, keys, sandbox } = await started({
      cors: origin,
      faults: [{ at: 5, status: 429, headers: { 'retry-after': '30' } }],
      routes: () => Response.json({}, { status: 201, headers: { 'x-total': '3' } }),
    });
    expect(await callsFrom(origin, { baseUrl: url, apiKey: keys.pro })).toEqual({
      pets: 12,
      isDated: true,
      updated: { petId: 1, quantity: 44, status: expect.any(String) },
      missing: { kind: 'not-found', status: 404, code: 'pet_missing', retryAfterMs: undefined, limit: 300 },
      order: [201, '3'],
      refused: { kind: 'rate-limit', status: 429, code: 'fault', retryAfterMs: 30_000, limit: 300 },
    });
    expect(sandbox.report().byStatus).toEqual({ 200: 2, 201: 1, 404: 1, 429: 1 });
  });

  test('reads nothing from a sandbox that does not list it', async () => {
    const origin = await servePage();
    const { url, keys, sandbox } = await started({ cors: origin.replace('127.0.0.1', 'localhost') });
    expect(await callsFrom(origin, { baseUrl: url, apiKey: keys.pro })).toMatch(/^ConnectionError: Cannot list/);
    expect(sandbox.report().requests).toBe(0);
  });
});
