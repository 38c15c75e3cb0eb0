import { type InventoryItem, type InventoryUpdate, PetStoreClient } from 'petstore-inventory';

const petstore = new PetStoreClient();

export async function sum(): Promise<number> {
  const items = await petstore.listInventory();
  return items.reduce((total, { quantity }) => total + quantity, 0);
}

export async function setOne(petId: number, update: InventoryUpdate): Promise<InventoryItem> {
  return petstore.updateInventory(petId, update);
}

export async function setMany(petIds: number[], update: InventoryUpdate) {
  return Promise.allSettled(petIds.map((petId) => setOne(petId, update)));
}
