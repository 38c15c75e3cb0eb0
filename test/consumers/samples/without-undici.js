// In a project that has not installed the optional peer `undici`.
import { PetStoreClient } from 'petstore-inventory';
import { undiciFetch } from 'petstore-inventory/undici';

const client = new PetStoreClient({ baseUrl: 'https://pets.test/v1', apiKey: 'a-key', fetch: undiciFetch() });
const error = await client.updateInventory(1, { quantity: 8 }).catch((thrown) => thrown);
console.log(`${error.name} ${error.option} ${error.message}`);
