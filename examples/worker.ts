// A Cloudflare Worker. GET /stock/42 returns the stock of a pet; PUT /stock/42 with { "quantity": 7 } answers first and sets it afterwards.
//
//     npm install petstore-inventory wrangler
//     printf 'PETSTORE_BASE_URL=https://shop.example/v1\nPETSTORE_API_KEY=your-key\nSCANNER_TOKEN=a-word\n' > .dev.vars
//     npx wrangler dev worker.ts --compatibility-date 2026-04-01
import { isPetStoreError, PetStoreClient } from 'petstore-inventory';

interface Env {
  PETSTORE_BASE_URL: string;
  /** Secrets: `npx wrangler secret put PETSTORE_API_KEY`. */
  PETSTORE_API_KEY: string;
  /** The secret of the scanners, which may set a stock. */
  SCANNER_TOKEN: string;
}

interface Context {
  waitUntil(work: Promise<unknown>): void;
}

// One client serves all requests of an isolate. Isolates do not know about each other, so each keeps to a part of the quota.
let petstore: PetStoreClient | undefined;

function clientFor({ PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: apiKey }: Env): PetStoreClient {
  petstore ??= new PetStoreClient({ baseUrl, apiKey, plan: 'business', share: 0.25, maxWaitMs: 5_000, totalTimeoutMs: 20_000 });
  return petstore;
}

export default {
  async fetch(request: Request, env: Env, ctx: Context): Promise<Response> {
    const [, digits] = /^\/stock\/(\d{1,15})$/.exec(new URL(request.url).pathname) ?? [];
    if (digits === undefined) return Response.json({ error: 'no such page' }, { status: 404 });
    const petId = Number(digits);
    if (request.method === 'GET') return readStock(clientFor(env), petId);
    if (request.method !== 'PUT') return Response.json({ error: 'GET or PUT' }, { status: 405, headers: { allow: 'GET, PUT' } });
    if (!isScanner(request, env)) return Response.json({ error: 'who are you?' }, { status: 401 });
    const quantity = quantityOf(await request.json().catch(() => undefined));
    if (quantity === undefined) return Response.json({ error: 'expected { "quantity": <integer> }' }, { status: 400 });
    // A scanner in the shop cannot wait for quota. Without waitUntil the call would end with this request.
    ctx.waitUntil(setStock(clientFor(env), { petId, quantity }));
    return Response.json({ petId, quantity }, { status: 202 });
  },
};

/** False for every request if no secret is set. */
function isScanner({ headers }: Request, { SCANNER_TOKEN }: Env): boolean {
  return Boolean(SCANNER_TOKEN) && headers.get('authorization') === `Bearer ${SCANNER_TOKEN}`;
}

async function readStock(client: PetStoreClient, petId: number): Promise<Response> {
  try {
    // In constant memory, however many pets there are; leaving the loop closes the connection.
    for await (const item of client.streamInventory()) if (item.petId === petId) return Response.json(item);
    return Response.json({ error: `no pet ${petId}` }, { status: 404 });
  } catch (error) {
    if (!isPetStoreError(error)) throw error;
    console.error(error.message);
    return Response.json({ error: 'the stock cannot be read now' }, { status: error.kind === 'rate-limit' ? 429 : 502 });
  }
}

async function setStock(client: PetStoreClient, { petId, quantity }: { petId: number; quantity: number }): Promise<void> {
  try {
    await client.updateInventory(petId, { quantity });
  } catch (error) {
    // The scanner already has its answer, so a failure has to be reported to a log, a queue or an alert.
    console.error(error instanceof Error ? error.message : error);
  }
}

function quantityOf(body: unknown): number | undefined {
  const quantity = typeof body === 'object' && body !== null && 'quantity' in body ? body.quantity : undefined;
  return typeof quantity === 'number' && Number.isSafeInteger(quantity) ? quantity : undefined;
}
