// Sets the stock of one pet: update.ts <petId> <quantity>
import { PetStoreClient } from 'petstore-inventory';
import { service } from './service.ts';

const [petId, quantity] = process.argv.slice(2);
if (!petId || !quantity) throw new Error('usage: update.ts <petId> <quantity>');
const petstore = new PetStoreClient({ ...service(), int64: 'bigint' });

// BigInt keeps every digit of an int64; Number would round an id beyond 2^53.
const { data, attempts, rateLimit } = await petstore.updateInventory(BigInt(petId), { quantity: Number(quantity) }).withResponse();

console.log(`pet ${data.petId} stands at ${data.quantity} (${data.status})`);
console.log(`attempts: ${attempts}, requests left in this window: ${rateLimit?.remaining ?? 'unknown'}`);
