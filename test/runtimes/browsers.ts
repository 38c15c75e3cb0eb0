import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CHROMIUM_FLAGS, findChromium } from '../support/chromium.ts';
import { listen, stop } from './loopback.ts';
import { FILES, MissingRuntime } from './prepare.ts';
import { parseResults } from './results.ts';
import type { Result } from './run-test.ts';

/** A browser that needs no driver: it opens one page, which runs the suite and sends the results to the server that it came from. */
interface BrowserRuntime {
  name: string;
  find(): string | undefined;
  /** What brings it to Debian or Ubuntu. */
  install: string;
  args(profile: string): readonly string[];
  /** Whether it cannot run headless. */
  needsDisplay?: boolean;
}

/** No first-run pages, and no request leaves the machine: the proxy for all other hosts does not exist. */
const FIREFOX_PREFERENCES = {
  'browser.aboutwelcome.enabled': false,
  'browser.startup.homepage_override.mstone': 'ignore',
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.proxy.type': 1,
  'network.proxy.http': '127.0.0.1',
  'network.proxy.http_port': 9,
  'network.proxy.ssl': '127.0.0.1',
  'network.proxy.ssl_port': 9,
};

const XVFB = '/usr/bin/Xvfb';

export const BROWSERS: readonly BrowserRuntime[] = [
  {
    name: 'chromium',
    find: findChromium,
    install: 'apt-get install chromium, or set CHROMIUM_PATH',
    args: (profile) => ['--headless', ...CHROMIUM_FLAGS, `--user-data-dir=${profile}`],
  },
  {
    name: 'firefox',
    find: () => [process.env.FIREFOX_PATH ?? '', '/usr/bin/firefox-esr', '/usr/bin/firefox'].find(existsSync),
    install: 'apt-get install firefox-esr, or set FIREFOX_PATH',
    args: (profile) => ['--headless', '--no-remote', '--profile', profile],
  },
  {
    name: 'webkit',
    find: () => (existsSync(XVFB) ? globSync('/usr/lib/*/webkit2gtk-4.1/MiniBrowser')[0] : undefined),
    install: 'apt-get install libwebkit2gtk-4.1-0 xvfb',
    args: () => [],
    needsDisplay: true,
  },
];

const LONGEST_RUN_MS = 90_000;
const LONGEST_END_MS = 5_000;

/** Runs the suite in a page whose origin is not the service's, so that CORS counts. */
export async function runInBrowser(browser: BrowserRuntime, origin: string): Promise<Result[]> {
  const program = browser.find();
  if (program === undefined) throw new MissingRuntime(`no ${browser.name}: ${browser.install}`);
  await using started = new AsyncDisposableStack();
  const { server, sent } = await createPage();
  const url = `${await listen(started.adopt(server, stop))}/?${new URLSearchParams({ origin, runtime: browser.name })}`;
  const profile = started.adopt(await createProfile(), (path) => rm(path, { recursive: true, force: true, maxRetries: 5 }));
  const DISPLAY = browser.needsDisplay ? await openDisplay(started) : undefined;
  const env = { PATH: process.env.PATH, HOME: profile, DISPLAY };
  const child = started.adopt(spawn(program, [...browser.args(profile), url], { env, stdio: ['ignore', 'ignore', 'pipe'] }), end);
  return parseResults(await Promise.race([sent, untilEnded(child)]));
}

/** If the script cannot even be read, that is the result. */
const PAGE = `<!doctype html><title>suite</title><link rel="icon" href="data:,">
<script>onerror = (error) => fetch('/', { method: 'POST', body: JSON.stringify([{ title: 'runs the suite', ms: 0, error }]) })</script>
<script type="module" src="/suite.js"></script>`;

async function createPage(): Promise<{ server: Server; sent: Promise<string> }> {
  const { promise: sent, resolve } = Promise.withResolvers<string>();
  const script = await readFile(FILES.page);
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') resolve(await text(request));
    const [type, body] = request.url === '/suite.js' ? ['text/javascript', script] : ['text/html', PAGE];
    response.setHeader('content-type', type).end(body);
  });
  return { server, sent };
}

async function createProfile(): Promise<string> {
  const profile = await mkdtemp(join(tmpdir(), 'petstore-browser-'));
  const preferences = Object.entries(FIREFOX_PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
  await writeFile(join(profile, 'user.js'), preferences.join('\n'));
  return profile;
}

/** Opens a screen in memory, and gives its name. Xvfb takes a free number, and prints it when it accepts connections. */
async function openDisplay(started: AsyncDisposableStack): Promise<string> {
  const child = started.adopt(spawn(XVFB, ['-displayfd', '1', '-nolisten', 'tcp'], { stdio: ['ignore', 'pipe', 'ignore'] }), end);
  const [printed] = await Promise.race([once(child.stdout, 'data'), untilEnded(child)]);
  return `:${String(printed).trim()}`;
}

/** Rejects when a program ended by itself, or takes too long. */
async function untilEnded(child: ChildProcess): Promise<never> {
  let printed = '';
  child.stderr?.on('data', (chunk) => {
    printed += chunk;
  });
  await once(child, 'exit', { signal: AbortSignal.timeout(LONGEST_RUN_MS) }).catch(() => {});
  throw new Error(`${child.spawnfile} gave no results within ${LONGEST_RUN_MS} ms, or before it ended\n${printed}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill();
  const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_END_MS);
  await ended;
  clearTimeout(timer);
}
