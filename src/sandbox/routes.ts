import { type Context, Hono, type Next } from 'hono';
import { INVENTORY_PATH } from '../contract/http.ts';
import { jsonAnswer, refuse } from './answers.ts';
import type { Ledger, SandboxRequest } from './ledger.ts';
import type { SandboxRoutes } from './options.ts';
import type { Desk, ServiceEnv } from './reception.ts';
import { show } from './sandbox-error.ts';
import { parsePetId, type Stock, type StockItem } from './stock.ts';
import { parseQuantity, readUpdate } from './update-body.ts';

/** A list of up to this length is sent as one text, with a Content-Length; a longer one is streamed. */
const MAX_ITEMS_AT_ONCE = 1_000;
const PIECE_LENGTH = 65_536;

/** The operations of one environment (specification, Endpoints), and the errors for all other requests. */
export function createRoutes(stock: Stock, { ledger, rules: { routes: own } }: Desk): Hono<ServiceEnv> {
  const routes = new Hono<ServiceEnv>();
  routes.get(`/${INVENTORY_PATH}`, () => listInventory(stock));
  routes.patch(`/${INVENTORY_PATH}/:petId`, (context) => updateInventory(context, { stock, ledger }));
  routes.all(`/${INVENTORY_PATH}`, (context) => methodNotAllowed(context.var.request, 'GET'));
  routes.all(`/${INVENTORY_PATH}/:petId`, (context) => methodNotAllowed(context.var.request, 'PATCH'));
  if (own) routes.all('*', async (context, next) => answerOwn(context.req.raw, own, next));
  routes.get('/pets/:petId', (context) => notShown(context.var.request, 'GET /pets/{petId} is deprecated, and its record is not shown'));
  routes.get('/store/orders', (context) => notShown(context.var.request, 'The record of GET /store/orders is not shown'));
  routes.all('*', (context) => refuse(context.var.request, { status: 404, code: 'not_found', message: 'There is no such path' }));
  return routes;
}

async function answerOwn(request: Request, own: SandboxRoutes, next: Next): Promise<Response | undefined> {
  const answer = await callRoutes(request, own);
  if (answer !== undefined) return copyOf(answer);
  await next();
  return undefined;
}

/** What is thrown and is no Error would not be answered with a 500. */
async function callRoutes(request: Request, own: SandboxRoutes): Promise<Response | undefined> {
  try {
    return await own(request);
  } catch (thrown) {
    throw thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

/**
 * Copies an answer of the caller's own, since the headers of a Response from a fetch are immutable.
 * @throws {TypeError} for anything but a Response whose body was not read; the sandbox answers it with a 500.
 */
function copyOf(answer: Response): Response {
  // Not by instanceof, since libraries and test environments have a class Response of their own.
  const isResponse = Object.prototype.toString.call(answer) === '[object Response]';
  if (!isResponse) throw new TypeError(`Cannot use ${show(answer)} as an answer of \`routes\`: it must be a Response or undefined`);
  if (!answer.bodyUsed && !answer.body?.locked) return new Response(answer.body, answer);
  throw new TypeError('Cannot use that Response as an answer of `routes`: its body was used before; make one for each request');
}

function listInventory(stock: Stock): Response {
  const pieces = listPieces(stock.values());
  if (stock.size <= MAX_ITEMS_AT_ONCE) return jsonAnswer(200, [...pieces].join(''));
  return new Response(bodyOf(pieces), { headers: { 'content-type': 'application/json' } });
}

/** Writes an entry as JSON without JSON.stringify, which rejects a bigint; a number would round the id. */
function itemText({ petId, quantity, status }: StockItem): string {
  return `{"petId":${petId},"quantity":${quantity},"status":${JSON.stringify(status)}}`;
}

/** Writes a list as JSON in pieces of about 64 KiB, so that a list of any length needs little memory and starts at once. */
function* listPieces(items: Iterable<StockItem>): Generator<string> {
  let piece = '[';
  let separator = '';
  for (const item of items) {
    piece += separator + itemText(item);
    separator = ',';
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]`;
}

/** Makes a body that takes a piece only when its reader is ready for one. */
function bodyOf(pieces: Iterator<string>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull(controller) {
      const piece = pieces.next();
      if (piece.done) controller.close();
      else controller.enqueue(encoder.encode(piece.value));
    },
    cancel() {
      pieces.return?.();
    },
  });
}

async function updateInventory(
  context: Context<ServiceEnv, '/inventory/:petId'>,
  { stock, ledger }: { stock: Stock; ledger: Ledger },
): Promise<Response> {
  const { request } = context.var;
  const petId = parsePetId(context.req.param('petId'));
  if (petId === undefined) return refuse(request, { status: 400, code: 'invalid_pet_id', message: 'petId must be the digits of an int64' });
  const text = await readUpdate(context.req.raw).catch((broken) => {
    // The answer is only recorded: whoever sent half a request gets none.
    context.env.breakOff('lost', broken ?? null);
    return '';
  });
  if (text === undefined)
    return refuse(request, { status: 413, code: 'body_too_large', message: 'The body must not be larger than 64 KiB' });
  const quantity = parseQuantity(text);
  if (quantity === undefined) {
    return refuse(request, { status: 400, code: 'invalid_body', message: 'The body must be JSON with a whole number as quantity' });
  }
  request.quantity = quantity;
  const item = stock.get(petId);
  if (item === undefined) return refuse(request, { status: 404, code: 'pet_missing', message: `There is no pet ${petId}` });
  const updated = { ...item, quantity };
  stock.set(petId, updated);
  ledger.noteUpdate(petId);
  return jsonAnswer(200, itemText(updated));
}

/** The specification names these endpoints but does not describe their answers, so the sandbox cannot give one. */
function notShown(request: SandboxRequest, what: string): Response {
  return refuse(request, { status: 501, code: 'not_shown', message: `${what} in the specification, so the sandbox cannot play it` });
}

function methodNotAllowed(request: SandboxRequest, allowed: string): Response {
  const answer = refuse(request, { status: 405, code: 'method_not_allowed', message: `Only ${allowed} is allowed here` });
  answer.headers.set('allow', allowed);
  return answer;
}
