import createApi from 'openapi-fetch';

// What openapi-typescript makes of a description of the service.
interface InventoryItem {
  petId: number;
  quantity: number;
  status: string;
}
interface InventoryUpdate {
  quantity: number;
}
interface paths {
  '/inventory': {
    get: { responses: { 200: { content: { 'application/json': InventoryItem[] } } } };
  };
  '/inventory/{petId}': {
    patch: {
      parameters: { path: { petId: number } };
      requestBody: { content: { 'application/json': InventoryUpdate } };
      responses: { 200: { content: { 'application/json': InventoryItem } } };
    };
  };
}

const api = createApi<paths>({
  baseUrl: process.env.PETSTORE_BASE_URL ?? '',
  headers: { authorization: `Bearer ${process.env.PETSTORE_API_KEY}` },
});

export async function sum(): Promise<number> {
  const { data, response } = await api.GET('/inventory');
  if (!data) throw new Error(String(response.status));
  return data.reduce((total, { quantity }) => total + quantity, 0);
}

export async function setOne(petId: number, update: InventoryUpdate): Promise<InventoryItem> {
  const { data, response } = await api.PATCH('/inventory/{petId}', { params: { path: { petId } }, body: update });
  if (!data) throw new Error(String(response.status));
  return data;
}

export async function setMany(petIds: number[], update: InventoryUpdate) {
  return Promise.allSettled(petIds.map((petId) => setOne(petId, update)));
}
