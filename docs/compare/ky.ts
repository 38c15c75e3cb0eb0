import ky from 'ky';
import type { InventoryItem, InventoryUpdate } from 'petstore-inventory';

const api = ky.create({
  prefix: process.env.PETSTORE_BASE_URL ?? '',
  headers: { authorization: `Bearer ${process.env.PETSTORE_API_KEY}` },
  // PATCH is not tried again unless it is named.
  retry: { methods: ['get', 'patch'] },
});

export async function sum(): Promise<number> {
  const items = await api.get('inventory').json<InventoryItem[]>();
  return items.reduce((total, { quantity }) => total + quantity, 0);
}

export async function setOne(petId: number, update: InventoryUpdate): Promise<InventoryItem> {
  return api.patch(`inventory/${petId}`, { json: update }).json<InventoryItem>();
}

export async function setMany(petIds: number[], update: InventoryUpdate) {
  return Promise.allSettled(petIds.map((petId) => setOne(petId, update)));
}
