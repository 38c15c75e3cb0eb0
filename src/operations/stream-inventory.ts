import type { Call } from '../call.ts';
import { INVENTORY_PATH } from '../contract/http.ts';
import type { Int64, InventoryItem } from '../contract/models.ts';
import { InvalidArgumentError } from '../errors.ts';
import type { ReadFailure } from '../json/failure.ts';
import type { ItemReader } from '../json/item-reader.ts';
import { hasMethods } from '../options/rules.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';
import { invalidResponse, loadReader, type OnEnd, type Operation, type StreamOperation } from './operation.ts';
import { UnknownStatuses } from './unknown-statuses.ts';

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

interface Reading {
  answer: OpenAnswer;
  call: Call;
  /** Missing for a list that is read while its call is under way. */
  onEnd?: OnEnd;
}

async function batchesOf<Ids extends Int64>(int64: Ids, reading: Reading): Promise<ItemBatches<Ids>> {
  const { ItemReader } = await loadReader(reading.call);
  return new ItemBatches(new ItemReader(int64), reading);
}

/** The items of one answer in batches, each read when it is asked for. */
export class ItemBatches<Ids extends Int64> {
  readonly #answer: OpenAnswer;
  readonly #call: Call;
  readonly #onEnd: OnEnd | undefined;
  readonly #reader: ItemReader<Ids>;
  readonly #unknownStatuses: UnknownStatuses;
  readonly #onAbort = () => this.#end({ error: this.#call.signal.reason });
  #first: InventoryItem<Ids>[] | undefined;
  #failure: (ReadFailure & { isCut: boolean }) | undefined;

  constructor(reader: ItemReader<Ids>, { answer, call, onEnd }: Reading) {
    this.#answer = answer;
    this.#call = call;
    this.#reader = reader;
    this.#unknownStatuses = new UnknownStatuses(call, answer);
    this.#onEnd = onEnd;
  }

  /** Reads the first batch, so that a failure before the first item can be retried. */
  async begin(): Promise<void> {
    this.#first = await this.read();
    // The permit is released: the request is already counted, and its consumer may itself wait for a permit before it reads on.
    this.#answer.release();
    this.#call.signal.throwIfAborted();
    this.#call.signal.addEventListener('abort', this.#onAbort);
  }

  /**
   * Returns the next items, at least one; undefined at the end. Rejects with a PetStoreError that has the number of items so far, without
   * the `untaken` ones.
   */
  async next(untaken?: () => number): Promise<InventoryItem<Ids>[] | undefined> {
    this.#call.untaken = untaken;
    try {
      this.#call.signal.throwIfAborted();
      const items = this.#first ?? (await this.read());
      this.#first = undefined;
      if (items.length === 0) this.#end();
      this.#call.delivered += items.length;
      return items.length === 0 ? undefined : items;
    } catch (error) {
      this.#end({ error });
      throw error;
    }
  }

  /** Whether the call was aborted, so that no more items are returned. */
  get isAborted(): boolean {
    return this.#call.signal.aborted;
  }

  /** Ends the stream and closes its connection. */
  close(): void {
    this.#end();
  }

  /** Reads until there are items; none at the end of the list. Rejects with a PetStoreError. */
  async read(): Promise<InventoryItem<Ids>[]> {
    for (;;) {
      if (this.#failure) throw await invalidResponse(this.#call, this.#answer, this.#failure);
      const chunk = await this.#answer.nextWhenAsked();
      const { items, failure } = chunk === undefined ? this.#reader.end() : this.#reader.push(chunk);
      this.#unknownStatuses.announce(items);
      // Good items are returned before the failure after them.
      this.#failure = failure && { ...failure, isCut: chunk === undefined };
      if (items.length > 0 || (chunk === undefined && !failure)) return items;
    }
  }

  /** The call settles with the first end: an abort comes before the failure of the read that it stopped. */
  #end(failed?: { error: unknown }): void {
    this.#call.signal.removeEventListener('abort', this.#onAbort);
    this.#answer.close();
    this.#onEnd?.(failed);
  }
}
