// The package in ten seconds, against a sandbox on a loopback port: npm run demo
import assert from 'node:assert/strict';
import { styleText } from 'node:util';
import { type InventoryItem, isPetStoreError, PetStoreClient, type PetStoreFailure } from 'petstore-inventory';
import { type ServedSandbox, serveSandbox } from 'petstore-inventory/node';

// A window begins with the first request, so that no minute ends during the demo.
const served = await serveSandbox({ policy: 'fixed-first', latency: { medianMs: 20, p99Ms: 60 } });
const baseUrl = served.url;
const petstore = new PetStoreClient({ baseUrl, apiKey: served.keys.business });

try {
  console.log(`\n  ${styleText('bold', 'petstore-inventory')} against a sandbox at ${baseUrl}`);
  await showStock();
  await showUpdate();
  await showErrors(served);
  await showBurst(served);
  console.log(`\n  ${styleText('green', '✓')} all of it happened\n`);
} finally {
  petstore.close();
  await served.close();
}

async function showStock(): Promise<void> {
  title('The stock', 'listInventory()');
  const items = await petstore.listInventory();
  console.log(styleText('dim', row('pet', 'quantity', 'status')));
  for (const item of items) console.log(row(String(item.petId), String(item.quantity), paintStatus(item.status)));
  assert.equal(items.length, 12);
}

async function showUpdate(): Promise<void> {
  title('An update', 'updateInventory(1, { quantity: 40 })');
  const { data, attempts } = await petstore.updateInventory(1, { quantity: 40 }).withResponse();
  const after = await petstore.listInventory();
  assert.equal(after.find(({ petId }) => petId === 1)?.quantity, 40);
  say(`pet ${data.petId} stands at ${data.quantity}, ${attempts} request`);
}

async function showErrors({ sandbox, keys }: ServedSandbox): Promise<void> {
  title('A typed error for each failure that the service defines', 'switch (error.kind)');
  // The client sends any whole quantity, since the service sets the bounds. This fault makes the sandbox refuse the next one.
  const body = JSON.stringify({ code: 'quantity_too_large', message: 'quantity must be at most 500', status: 400 });
  sandbox.faults.add({ times: 1, status: 400, body });
  await showFailure('bad-request', petstore.updateInventory(1, { quantity: 501 }));
  await showFailure('authentication', new PetStoreClient({ baseUrl, apiKey: 'not-a-key' }).listInventory());
  await showFailure('not-found', petstore.updateInventory(999, { quantity: 1 }));
  await useUp(keys.free);
  const late = new PetStoreClient({ baseUrl, apiKey: keys.free, maxRetries: 0 });
  await showFailure('rate-limit', late.updateInventory(1, { quantity: 41 }));
}

/** Another program uses the 60 requests of the Free key, unnoticed by the client. */
async function useUp(apiKey: string): Promise<void> {
  const ask = () => fetch(`${baseUrl}/inventory`, { headers: { authorization: `Bearer ${apiKey}` } }).then((answer) => answer.text());
  await Promise.all(Array.from({ length: 60 }, ask));
}

async function showFailure(kind: PetStoreFailure['kind'], call: Promise<unknown>): Promise<void> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(isPetStoreError(error) && error.kind === kind, `the call should have failed with ${kind}`);
  say(`${styleText('red', String(error.status))}  ${styleText('bold', error.name)}`);
  say(`     ${error.message}`);
  const { retryAt, outcome } = error;
  const facts = [`kind ${kind}`, outcome && `outcome ${outcome}`, retryAt && `retryAt ${retryAt.toISOString()}`];
  say(styleText('dim', `     ${facts.filter(Boolean).join(', ')}`));
}

async function showBurst({ sandbox }: ServedSandbox): Promise<void> {
  title('100 updates at once', 'Business plan, counted by the sandbox');
  sandbox.clear();
  const startedAtMs = performance.now();
  await Promise.all(Array.from({ length: 100 }, (_, n) => petstore.updateInventory((n % 12) + 1, { quantity: n })));
  const seconds = (performance.now() - startedAtMs) / 1000;
  const { requests, rateLimited } = sandbox.report();
  say(`${requests} requests, ${rateLimited} answers with 429, ${seconds.toFixed(2)} seconds`);
  say(styleText('dim', `${petstore.quota.minute.remaining} of ${petstore.quota.minute.limit} requests left in this minute`));
  assert.deepEqual({ requests, rateLimited }, { requests: 100, rateLimited: 0 });
}

function title(text: string, how: string): void {
  console.log(`\n  ${styleText(['bold', 'cyan'], text)}  ${styleText('dim', how)}`);
}

function say(text: string): void {
  console.log(`    ${text}`);
}

function row(pet: string, quantity: string, status: string): string {
  return `    ${pet.padStart(4)}  ${quantity.padStart(8)}  ${status}`;
}

function paintStatus(status: InventoryItem['status']): string {
  if (status === 'available') return styleText('green', status);
  return styleText(status === 'pending' ? 'yellow' : 'dim', status);
}
