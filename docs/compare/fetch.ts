import type { InventoryItem, InventoryUpdate } from 'petstore-inventory';

const { PETSTORE_BASE_URL, PETSTORE_API_KEY } = process.env;

async function send<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${PETSTORE_API_KEY}`, 'content-type': 'application/json' };
  const response = await fetch(`${PETSTORE_BASE_URL}${path}`, { ...init, headers });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

export async function sum(): Promise<number> {
  const items = await send<InventoryItem[]>('/inventory');
  return items.reduce((total, { quantity }) => total + quantity, 0);
}

export async function setOne(petId: number, update: InventoryUpdate): Promise<InventoryItem> {
  return send(`/inventory/${petId}`, { method: 'PATCH', body: JSON.stringify(update) });
}

export async function setMany(petIds: number[], update: InventoryUpdate) {
  return Promise.allSettled(petIds.map((petId) => setOne(petId, update)));
}
