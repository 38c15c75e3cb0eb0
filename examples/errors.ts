// Decides by `kind` what to do about a failure.
import { isPetStoreError, PetStoreClient } from 'petstore-inventory';
import { service } from './service.ts';

const options = service();
const petstore = new PetStoreClient(options);
const stranger = new PetStoreClient({ ...options, apiKey: 'not-a-key' });

// No shop has a pet -1, so this changes nothing.
console.log(await advise(() => petstore.updateInventory(-1, { quantity: 3 })));
console.log(await advise(() => petstore.updateInventory(1, { quantity: 1.5 })));
console.log(await advise(() => stranger.listInventory()));
console.log(await advise(() => petstore.listInventory()));

/** Makes a call, and says what to do if it fails. */
async function advise(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
    return 'done';
  } catch (error) {
    if (!isPetStoreError(error)) throw error;
    switch (error.kind) {
      case 'not-found':
        return `skip pet ${error.petId}: there is no such pet`;
      case 'authentication':
        return 'ask for a new key';
      case 'rate-limit':
        return `come back at ${error.retryAt?.toISOString()}`;
      case 'invalid-argument':
        return `fix \`${error.argument}\`: ${error.message}`;
      case 'server':
      case 'connection':
      case 'timeout':
        return error.outcome === 'unknown' ? 'set the quantity again: it may or may not have arrived' : 'try again later';
      default:
        return `tell somebody: ${error.message}`;
    }
  }
}
