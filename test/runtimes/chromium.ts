import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { chromium } from 'playwright-core';
import { CHROMIUM_FLAGS, findChromium } from '../support/chromium.ts';
import { listen, stop } from './loopback.ts';
import { FILES, MissingRuntime, run } from './prepare.ts';
import { parseResults } from './results.ts';
import type { Result } from './run-test.ts';

const INSTALL = 'apt-get update && apt-get install -y chromium';

/** Runs the suite in a page whose origin is not the service's, so that CORS counts. */
export async function runInChromium(origin: string): Promise<Result[]> {
  const browser = await chromium.launch({ executablePath: await findProgram(), args: CHROMIUM_FLAGS });
  const script = await readFile(FILES.page);
  const server = createServer(({ url }, response) => {
    if (url === '/suite.js') return void response.setHeader('content-type', 'text/javascript').end(script);
    response
      .setHeader('content-type', 'text/html')
      .end('<!doctype html><title>suite</title><script type="module" src="/suite.js"></script>');
  });
  try {
    const page = await browser.newPage();
    await page.goto(await listen(server), { waitUntil: 'load' });
    const place = JSON.stringify({ origin, runtime: 'chromium', isBrowser: true });
    return parseResults(String(await page.evaluate(`runSuite(${place}).then(JSON.stringify)`)));
  } finally {
    await browser.close();
    await stop(server);
  }
}

/** Only where CI runs as root may the machine be changed. */
async function findProgram(): Promise<string> {
  if (!findChromium() && process.env.CI === 'true' && process.getuid?.() === 0) await run('sh', ['-c', INSTALL]);
  const program = findChromium();
  if (program === undefined) throw new MissingRuntime(`no Chromium in /usr/bin: ${INSTALL}, or set CHROMIUM_PATH`);
  return program;
}
