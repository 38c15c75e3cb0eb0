// Prints the stock of all pets.
import { PetStoreClient } from 'petstore-inventory';
import { service } from './service.ts';

const petstore = new PetStoreClient(service());

for (const { petId, quantity, status } of await petstore.listInventory()) console.log(petId, quantity, status);
