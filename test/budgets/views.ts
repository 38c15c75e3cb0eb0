// Prints how many bytes views take while nothing is under way, as JSON.
import { PetStoreClient, StockView } from '../../src/index.ts';

declare const gc: () => void;

const VIEWS = 2_000;
const LARGE = 1_000_000;

/** A client whose lists have so many pets, and need no text of a whole list. */
function clientOf(pets: number, firstId = 1): PetStoreClient {
  const fetch = async () => {
    let next = 0;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const rows = Array.from({ length: Math.min(1_000, pets - next) }, (_, row) => rowOf(firstId + next + row));
      next += rows.length;
      const isLast = next === pets;
      const opening = next === rows.length ? '[' : ',';
      controller.enqueue(new TextEncoder().encode(`${opening}${rows.join()}${isLast ? ']' : ''}`));
      if (isLast) controller.close();
    };
    return new Response(new ReadableStream({ pull }), { headers: { 'content-type': 'application/json' } });
  };
  return new PetStoreClient({ apiKey: 'key', baseUrl: 'http://localhost/v1', plan: 'unlimited', fetch });
}

function rowOf(petId: number): string {
  return `{"petId":${petId},"quantity":${petId % 100_000},"status":"sold"}`;
}

async function heldBytes(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** What each of some views of one client holds after two lists. */
async function measure(client: PetStoreClient, count: number): Promise<number> {
  const warmUp = new StockView(client);
  await warmUp.refresh();
  warmUp.close();
  const before = await heldBytes();
  const views = Array.from({ length: count }, () => new StockView(client));
  for (const view of views) {
    await view.refresh();
    await view.refresh();
  }
  const bytes = ((await heldBytes()) - before) / count;
  for (const view of views) view.close();
  return Math.round(bytes);
}

console.log(
  JSON.stringify({
    // The engine itself may keep more at times, and never less.
    small: Math.min(await measure(clientOf(12), VIEWS), await measure(clientOf(12), VIEWS)),
    large: await measure(clientOf(LARGE), 1),
    // Beyond 32 bits, so that ids take twice the room.
    wide: await measure(clientOf(LARGE, 2 ** 40), 1),
  }),
);
