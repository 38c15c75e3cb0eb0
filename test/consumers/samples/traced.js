// As program.js, traced by what is no SDK at all.
import { trace } from '@opentelemetry/api';
import { NotFoundError, PetStoreClient } from 'petstore-inventory';
import { traceClient } from 'petstore-inventory/otel';
import { createSandbox } from 'petstore-inventory/sandbox';

const { baseUrl, keys, fetch } = createSandbox({ pets: 3 });
const client = new PetStoreClient({ baseUrl, fetch, apiKey: keys.business });
const names = [];
const startSpan = (name) => {
  if (/Inventory$/.test(name)) names.push(name);
  return trace.getTracer('none').startSpan(name);
};
const stop = traceClient(client, { tracerProvider: { getTracer: () => ({ startSpan }) } });
const items = await client.listInventory();
const { quantity } = await client.updateInventory(2, { quantity: 8 });
const failure = await client.updateInventory(9, { quantity: 8 }).catch((error) => error);
stop();
console.log(`${items.length} ${quantity} ${failure instanceof NotFoundError && failure.name}`);
console.log(names.join(' '));
