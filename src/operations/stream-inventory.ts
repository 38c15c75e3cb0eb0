import { INVENTORY_PATH } from '../contract/http.ts';
import type { Int64 } from '../contract/models.ts';
import { InvalidArgumentError } from '../errors.ts';
import { loadPart } from '../load-part.ts';
import { hasMethods } from '../options/rules.ts';
import type { ItemBatches, ListSink, Reading } from './item-batches.ts';
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
      await batches.collect(sink);
    },
  };
}

async function batchesOf<Ids extends Int64>(int64: Ids, reading: Reading): Promise<ItemBatches<Ids>> {
  const { ItemBatches } = await loadPart('the reader of long lists', reading.call, import('./item-batches.ts'));
  return new ItemBatches(int64, reading);
}
