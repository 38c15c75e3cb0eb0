// Checks in a few seconds whether a program can work with staging, for an integrator or for CI before a deployment:
//
//     PETSTORE_STAGING_BASE_URL=https://staging.shop.example/v1 PETSTORE_API_KEY=your-key node smoke.ts
//
// It sends nothing to production, makes seven requests or a few more, puts back the one quantity that it changes, and exits with 1 if a
// check fails.
import { isPetStoreError, PetStoreClient } from 'petstore-inventory';

try {
  // Waits are short, and each is printed as it begins.
  const petstore = new PetStoreClient({ environment: 'staging', maxRetries: 1, maxWaitMs: 10_000, totalTimeoutMs: 30_000 });
  petstore.on('wait', ({ reason, ms }) => console.log(`      waiting ${(ms / 1000).toFixed(1)} s for ${reason}`));
  petstore.on('retry', ({ error }) => console.log(`      once more: ${error.message}`));
  console.log(`staging at ${petstore.baseUrl}`);
  process.exitCode = (await runChecks(petstore)) ? 0 : 1;
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}

/** Runs the checks one after the other. If the list fails, the others would show nothing more. */
async function runChecks(petstore: PetStoreClient): Promise<boolean> {
  if (!(await check('lists the stock', () => list(petstore)))) return false;
  const results = [
    await check('reports its limits', () => readLimits(petstore)),
    await check('sets a quantity, and puts it back', () => changeAndRestore(petstore)),
    await check('rejects an unknown pet', () => fails(petstore.updateInventory(-1, { quantity: 1 }), 404)),
    await check('refuses a wrong key', () =>
      fails(new PetStoreClient({ environment: 'staging', apiKey: 'not-a-key' }).listInventory(), 401),
    ),
  ];
  return results.every(Boolean);
}

async function check(title: string, run: () => Promise<string>): Promise<boolean> {
  try {
    console.log(`ok    ${title}: ${await run()}`);
    return true;
  } catch (error) {
    console.log(`FAIL  ${title}: ${messageOf(error)}`);
    return false;
  }
}

async function list(petstore: PetStoreClient): Promise<string> {
  const { data, headers } = await petstore.listInventory().withResponse();
  const apartMs = Math.abs(Date.parse(headers.get('date') ?? '') - Date.now());
  return `${data.length} pets${apartMs > 60_000 ? `; our clock is ${Math.round(apartMs / 1000)} s wrong, or that of the service` : ''}`;
}

async function readLimits(petstore: PetStoreClient): Promise<string> {
  const { limit, remaining, resetAt } = petstore.quota.minute;
  if (!resetAt) throw new Error('no answer had X-RateLimit headers: give the client its `plan`');
  return `${remaining} of ${limit} requests left until ${resetAt.toISOString()}`;
}

async function changeAndRestore(petstore: PetStoreClient): Promise<string> {
  const [pet] = await petstore.listInventory();
  if (!pet) return 'skipped, there are no pets';
  const { petId, quantity } = pet;
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort(new Error('interrupted')));
  const { signal } = interrupt;
  try {
    await petstore.updateInventory(petId, { quantity: quantity + 1 }, { signal });
    const after = (await petstore.listInventory({ signal })).find((item) => item.petId === petId);
    if (after?.quantity !== quantity + 1) throw new Error(`pet ${petId} was set to ${quantity + 1}, but stands at ${after?.quantity}`);
  } finally {
    await petstore.updateInventory(petId, { quantity }).catch((error: unknown) => {
      throw new Error(`pet ${petId} could not be put back to ${quantity}: ${messageOf(error)}`);
    });
  }
  return `pet ${petId} stands at ${quantity} again`;
}

/** Expects a call to fail with a status. */
async function fails(call: Promise<unknown>, status: number): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (isPetStoreError(error) && error.status === status) return `${status} ${error.code}`;
  throw new Error(`expected ${status}, but ${error === undefined ? 'the call succeeded' : messageOf(error)}`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
