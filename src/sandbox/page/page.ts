import { type Context, Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { errorAnswer } from '../answers.ts';
import type { SandboxRequest } from '../ledger.ts';
import type { SandboxParts } from '../sandbox.ts';
import { History } from './history.ts';
import { PAGE_HTML } from './html.ts';
import { PAGE_SCRIPT } from './script.ts';
import { searchStock } from './search.ts';
import { PAGE_STYLE } from './style.ts';

const NEWS_EVERY_MS = 250;
const MAX_REQUESTS_TOLD = 200;
const MAX_KEYS_TOLD = 50;
/** Required for a reset: a page of another site cannot send it without a CORS preflight, which is granted for the service alone. */
const RESET_HEADER = 'x-sandbox-reset';

/** Whatever gets into the page, the browser only loads from the sandbox. */
const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

/** The additional routes of a served sandbox: the page at `/` and the description at `/openapi.json`. */
export function createPage(parts: SandboxParts): Hono {
  const page = new Hono();
  const { sandbox, desk } = parts;
  const history = new History(desk);
  page.use('*', async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) context.header(name, value);
  });
  page.get('/', (context) => context.html(PAGE_HTML));
  page.get('/page/style.css', (context) => context.body(PAGE_STYLE, 200, { 'content-type': 'text/css; charset=utf-8' }));
  page.get('/page/script.js', (context) => context.body(PAGE_SCRIPT, 200, { 'content-type': 'text/javascript; charset=utf-8' }));
  page.get('/page/stock', async (context) => {
    const { search: words = '', from = '0' } = context.req.query();
    return context.json(
      await searchStock(desk.stocks.production, { words, from: Number.parseInt(from, 10) || 0, signal: context.req.raw.signal }),
    );
  });
  page.get('/page/history', (context) => context.json({ nowMs: sandbox.clock.now(), keys: history.list() }));
  page.get('/page/state', (context) => context.json(JSON.parse(newsOf(parts, []))));
  page.post('/page/reset', (context) => {
    if (context.req.header(RESET_HEADER) === undefined)
      return errorAnswer({ status: 400, code: 'bad_request', message: `Send the header ${RESET_HEADER}` });
    sandbox.reset();
    return context.json({});
  });
  page.get('/page/events', (context) => sendNews(context, parts));
  page.get('/openapi.json', async (context) => {
    // Imported on the first request: the library that makes the document is larger than the rest of the sandbox.
    const { describeService } = await import('../openapi.ts');
    return context.json(describeService());
  });
  page.notFound(() => errorAnswer({ status: 404, code: 'not_found', message: 'There is no such path' }));
  page.onError(() => errorAnswer({ status: 500, code: 'internal', message: 'The sandbox could not answer' }));
  return page;
}

/** Sends the news a few times a second, however many requests there are, until the reader disconnects. */
function sendNews(context: Context, parts: SandboxParts): Response {
  return streamSSE(context, async (stream) => {
    let fresh: SandboxRequest[] = parts.desk.ledger.requests.slice(-MAX_REQUESTS_TOLD);
    const unsubscribe = parts.desk.ledger.subscribe((request) => {
      if (request) fresh.push(request);
      else fresh = [];
      if (fresh.length > MAX_REQUESTS_TOLD) fresh.shift();
    });
    stream.onAbort(unsubscribe);
    while (!stream.aborted && !stream.closed) {
      const requests = fresh;
      fresh = [];
      await stream.writeSSE({ data: newsOf(parts, requests) });
      await stream.sleep(NEWS_EVERY_MS);
    }
    unsubscribe();
  });
}

function newsOf({ desk: { clock, keyring, ledger } }: SandboxParts, requests: readonly SandboxRequest[]): string {
  const nowMs = clock.now();
  const known = keyring.list().slice(0, MAX_KEYS_TOLD);
  const keys = known.map((key) => ({ ...key, ...keyring.meter('production', key).gauges(nowMs) }));
  const { updatesByPet: _, ...report } = ledger.report();
  return JSON.stringify({ nowMs, keys, requests, report }, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
