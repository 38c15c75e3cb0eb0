import { isPetStoreError, PetStoreClient } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';

const { baseUrl, keys, fetch, faults } = createSandbox({ pets: 3 });
const client = new PetStoreClient({ baseUrl, fetch, apiKey: keys.business });

test('lists and updates', async () => {
  expect(await client.listInventory()).toHaveLength(3);
  expect(await client.updateInventory(2, { quantity: 8 })).toMatchObject({ petId: 2, quantity: 8 });
});

test('rejects with typed errors', async () => {
  const failure = await client.updateInventory(9, { quantity: 8 }).catch((error) => error);
  expect(isPetStoreError(failure) && failure.kind).toBe('not-found');
});

test('aborts', async () => {
  faults.add({ fail: 'stall' });
  const reason = new Error('enough');
  const controller = new AbortController();
  const call = client.listInventory({ signal: controller.signal });
  setTimeout(() => controller.abort(reason), 20);
  await expect(call).rejects.toBe(reason);
});
