// A service that reports which pets are running low, for a dashboard or a shop's back office, to any number of readers within the
// quota of one key. It reads the client's variables:
//
//     npm install petstore-inventory hono @hono/node-server
//     PETSTORE_BASE_URL=https://shop.example/v1 PETSTORE_API_KEY=your-key PORT=3000 node low-stock.ts
//     curl 'http://127.0.0.1:3000/low-stock?below=10'
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { isPetStoreError, PetStoreClient, type PetStoreFailure, StockView } from 'petstore-inventory';

// One client for all requests, so that they keep to the limits together. A reader waits for each of its lists, so none may take long.
const petstore = new PetStoreClient({ maxWaitMs: 5_000, totalTimeoutMs: 15_000 });
petstore.on('settled', ({ operation, ms, error }) => console.log(`${operation}, ${Math.round(ms)} ms: ${error ?? 'succeeded'}`));

// One view for all requests: lists get half of the key's quota, and a short outage goes unnoticed.
const stock = new StockView(petstore);

const app = new Hono();

// A connection that is kept alive would delay the end of this service by seconds.
app.use(async (c, next) => {
  await next();
  if (!server.listening) c.header('Connection', 'close');
});

app.get('/low-stock', async (c) => {
  const below = Number(c.req.query('below') ?? 10);
  if (!Number.isSafeInteger(below)) return c.json({ error: '`below` must be an integer' }, 400);
  // Aborts when this reader disconnects. If no other reader waits for the list, it is aborted too, and costs no quota if it was not sent.
  const items = await stock.items({ signal: c.req.raw.signal });
  const low = Array.from(items).filter(({ quantity }) => quantity < below);
  low.sort((one, other) => one.quantity - other.quantity);
  if (stock.asOf) c.header('Age', String(Math.round((Date.now() - stock.asOf.getTime()) / 1000)));
  return c.json({ below, pets: low });
});

app.get('/health', (c) => c.json({ quota: petstore.quota }));

app.onError((error, c) => {
  // The reader has disconnected.
  if (c.req.raw.signal.aborted) return c.body(null);
  if (!isPetStoreError(error)) {
    console.error(error);
    return c.json({ error: 'something went wrong' }, 500);
  }
  if (error.retryAt) c.header('Retry-After', String(secondsUntil(error.retryAt)));
  // The message, which names the service behind this one, is only in our log.
  return c.json({ error: 'the stock cannot be read now', code: error.code }, statusFor(error));
});

/** The status by which a reader learns of a failure of the service behind this one. */
function statusFor({ kind, retryAt }: PetStoreFailure): 429 | 500 | 502 | 503 | 504 {
  switch (kind) {
    case 'rate-limit':
      return 429;
    case 'server':
      return retryAt ? 503 : 502;
    case 'connection':
    case 'invalid-response':
    case 'unexpected-status':
      return 502;
    case 'timeout':
      return 504;
    default:
      // A refused key or a wrong option is our own fault.
      return 500;
  }
}

function secondsUntil(instant: Date): number {
  return Math.max(1, Math.ceil((instant.getTime() - Date.now()) / 1000));
}

const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}`);
});

// Requests under way are answered; then nothing is left to do and the process exits with 0.
process.once('SIGTERM', stop);
process.once('SIGINT', stop);

function stop(): void {
  console.log('stopping');
  server.close(() => {
    stock.close();
    petstore.close();
  });
}
