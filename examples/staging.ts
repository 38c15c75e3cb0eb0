// Chooses the environment by option and by variable, and shows that a wrong setting is refused.
import { isPetStoreError, PetStoreClient } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';

const sandbox = createSandbox();
const { fetch } = sandbox;
const apiKey = sandbox.keys.free;
sandbox.staging.inventory.set(1, { quantity: 777 });

// By option: both addresses in one place, and one option that chooses between them.
const baseUrl = { production: sandbox.baseUrl, staging: sandbox.staging.baseUrl };
const byOption = new PetStoreClient({ apiKey, fetch, baseUrl, environment: 'staging' });
console.log('by option:', (await byOption.listInventory())[0]);

// By variable: the same program runs against either environment. A deployment sets these.
process.env.PETSTORE_ENVIRONMENT = 'staging';
process.env.PETSTORE_STAGING_BASE_URL = sandbox.staging.baseUrl;
const byVariable = new PetStoreClient({ apiKey, fetch });
console.log('by variable:', (await byVariable.listInventory())[0]);

// A single address is production's. With `environment: 'staging'` it is refused before anything is sent.
try {
  new PetStoreClient({ apiKey, fetch, baseUrl: sandbox.baseUrl, environment: 'staging' });
  process.exitCode = 1;
} catch (error) {
  if (!isPetStoreError(error)) throw error;
  console.log('refused:', error.message);
}
