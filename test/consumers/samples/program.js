// Runs in every bundle: a client, the sandbox, an error class whose name a minifier would change.
import { NotFoundError, PetStoreClient } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';

async function run() {
  const { baseUrl, keys, fetch } = createSandbox({ pets: 3 });
  const client = new PetStoreClient({ baseUrl, fetch, apiKey: keys.business, dangerouslyAllowBrowser: true });
  const items = await client.listInventory();
  const { quantity } = await client.updateInventory(2, { quantity: 8 });
  const failure = await client.updateInventory(9, { quantity: 8 }).catch((error) => error);
  return `${items.length} ${quantity} ${failure instanceof NotFoundError && failure.name}`;
}

run().then((line) => console.log(line));
