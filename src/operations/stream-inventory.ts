import type { Call } from '../call.ts';
import { INVENTORY_PATH } from '../contract/http.ts';
import type { Int64, InventoryItem } from '../contract/models.ts';
import { InvalidArgumentError } from '../errors.ts';
import { loadPart } from '../load-part.ts';
import { hasMethods } from '../options/rules.ts';
import type { ItemBatches, Reading } from './item-batches.ts';
import type { Operation, StreamOperation } from './operation.ts';

const LIST = { name: 'streamInventory', request: { method: 'GET', path: INVENTORY_PATH } } as const;

/** Reads the stock of all pets as it arrives (specification, listInventory). */
export function streamInventory<Ids extends Int64>(int64: Ids): StreamOperation<ItemBatches<Ids>> {
  return {
    ...LIST,
    read: async (answer, call, onEnd) => {
      const batches = await batchesOf(int64, { answer, call, onEnd });
      await batches.begin();
      return batches;
    },
  };
}

/**
 * Takes a whole list in parts. A promise that a method gives is awaited before the client reads on.
 *
 * @typeParam Ids the type of ids in answers
 * @example
 * let total = 0;
 * const sink: ListSink = {
 *   begin: () => { total = 0; },
 *   add: (items) => { for (const { quantity } of items) total += quantity; },
 * };
 * await petstore.streamInventory().collect(sink);
 * console.log(total > 0); // → true
 */
export interface ListSink<Ids extends Int64 = 'number'> {
  /**
   * Called before the first items of each answer: what came before does not count.
   * @throws what ends the call, which rejects with it
   */
  begin(): unknown;
  /**
   * Takes the next items of the list, at least one.
   * @throws what ends the call, which rejects with it
   */
  add(items: InventoryItem<Ids>[]): unknown;
}

/** @throws InvalidArgumentError for a value that is no sink */
export function checkSink(sink: unknown): void {
  if (!hasMethods(sink, ['begin', 'add']))
    throw new InvalidArgumentError('Cannot use this as `sink`: it must have begin() and add()', { argument: 'sink', operation: LIST.name });
}

/** Reads the stock of all pets into a sink. An answer that breaks in the middle is retried like any other failure. */
export function collectInventory<Ids extends Int64>(int64: Ids, sink: ListSink<Ids>): Operation<void> {
  return {
    ...LIST,
    read: async (answer, call) => {
      const batches = await batchesOf(int64, { answer, call });
      await askSink(call, () => sink.begin());
      for (let items = await batches.read(); items.length > 0; items = await batches.read()) {
        // As for a stream: the request is already counted, and a long list would hold up other calls.
        answer.release();
        await askSink(call, () => sink.add(items));
      }
    },
  };
}

/** Calls a method of a sink. What it throws ends the call: it is no failure of the service, and no other attempt would help. */
async function askSink(call: Call, ask: () => unknown): Promise<void> {
  try {
    await ask();
  } catch (thrown) {
    call.abort(thrown);
    throw thrown;
  }
}

async function batchesOf<Ids extends Int64>(int64: Ids, reading: Reading): Promise<ItemBatches<Ids>> {
  const { ItemBatches } = await loadPart('the reader of long lists', reading.call, import('./item-batches.ts'));
  return new ItemBatches(int64, reading);
}
