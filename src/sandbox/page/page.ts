import { type Context, Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { errorAnswer } from '../answers.ts';
import type { SandboxRequest } from '../ledger.ts';
import type { SandboxParts } from '../sandbox.ts';
import { parsePetId, type Stock, type StockItem } from '../stock.ts';
import { PAGE_HTML } from './html.ts';
import { PAGE_SCRIPT } from './script.ts';
import { PAGE_STYLE } from './style.ts';

const NEWS_EVERY_MS = 250;
const MAX_REQUESTS_TOLD = 200;
const MAX_KEYS_TOLD = 50;
const MAX_ITEMS_SHOWN = 100;
// A search reads no more than this, so that five million pets hold nobody up.
const MAX_ITEMS_SEARCHED = 20_000;

/** Nothing may be loaded from anywhere but the sandbox, whatever gets into the page. */
const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

/** What a served sandbox has beside the service: the page at `/` and the description at `/openapi.json`. */
export function createPage(parts: SandboxParts): Hono {
  const page = new Hono();
  page.use('*', async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) context.header(name, value);
  });
  page.get('/', (context) => context.html(PAGE_HTML));
  page.get('/page/style.css', (context) => context.body(PAGE_STYLE, 200, { 'content-type': 'text/css; charset=utf-8' }));
  page.get('/page/script.js', (context) => context.body(PAGE_SCRIPT, 200, { 'content-type': 'text/javascript; charset=utf-8' }));
  page.get('/page/stock', (context) => context.json(searchStock(parts.stock, context.req.query('search') ?? '')));
  page.get('/page/events', (context) => tellNews(context, parts));
  page.get('/openapi.json', async (context) => {
    // Loaded when it is asked for: the library that writes it is larger than the rest of the sandbox.
    const { describeService } = await import('../openapi.ts');
    return context.json(describeService());
  });
  page.notFound(() => errorAnswer({ status: 404, code: 'not_found', message: 'There is no such path' }));
  page.onError(() => errorAnswer({ status: 500, code: 'internal', message: 'The sandbox could not answer' }));
  return page;
}

/** Ids are text here: the page has no use for numbers that it would round. */
function searchStock(stock: Stock, search: string): { size: number; items: { petId: string; quantity: number; status: string }[] } {
  const words = search.trim().toLowerCase();
  const exact = stock.get(parsePetId(words) ?? 0n);
  const found: StockItem[] = exact === undefined || words === '' ? [] : [exact];
  let searched = 0;
  for (const item of stock.values()) {
    searched += 1;
    if (found.length >= MAX_ITEMS_SHOWN || searched > MAX_ITEMS_SEARCHED) break;
    if (item !== exact && `${item.petId} ${item.status}`.includes(words) && item.petId !== found[0]?.petId) found.push(item);
  }
  return { size: stock.size, items: found.map(({ petId, ...rest }) => ({ petId: String(petId), ...rest })) };
}

/** Sends what is new a few times a second, however many requests there were, until the reader leaves. */
function tellNews(context: Context, parts: SandboxParts): Response {
  return streamSSE(context, async (stream) => {
    let fresh: SandboxRequest[] = parts.ledger.requests.slice(-MAX_REQUESTS_TOLD);
    const unsubscribe = parts.ledger.subscribe((request) => {
      if (fresh.length < MAX_REQUESTS_TOLD) fresh.push(request);
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

function newsOf({ sandbox, keyring, ledger }: SandboxParts, requests: readonly SandboxRequest[]): string {
  const nowMs = sandbox.clock.now();
  const known = keyring.list().slice(0, MAX_KEYS_TOLD);
  const keys = known.map((key) => ({ ...key, ...keyring.meter('production', key).gauges(nowMs) }));
  const { updatesByPet: _, ...report } = ledger.report();
  return JSON.stringify({ nowMs, keys, requests, report }, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
