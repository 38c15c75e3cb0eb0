import type { Call } from '../call.ts';
import { INVENTORY_PATH } from '../contract/http.ts';
import type { Int64, InventoryItem } from '../contract/models.ts';
import type { ReadFailure } from '../json/failure.ts';
import type { ItemReader } from '../json/item-reader.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';
import { invalidResponse, loadReader, type OnEnd, type StreamOperation } from './operation.ts';
import { UnknownStatuses } from './unknown-statuses.ts';

/** Reads the stock of all pets as it arrives (specification, listInventory). */
export function streamInventory<Ids extends Int64>(int64: Ids): StreamOperation<ItemBatches<Ids>> {
  return {
    name: 'streamInventory',
    request: { method: 'GET', path: INVENTORY_PATH },
    read: async (answer, call, onEnd) => {
      const { ItemReader } = await loadReader(call);
      const batches = new ItemBatches(answer, call, { reader: new ItemReader(int64), onEnd });
      await batches.begin();
      return batches;
    },
  };
}

interface Reading<Ids extends Int64> {
  reader: ItemReader<Ids>;
  onEnd: OnEnd;
}

/** The items of one answer in batches, each read when it is asked for. */
export class ItemBatches<Ids extends Int64> {
  readonly #answer: OpenAnswer;
  readonly #call: Call;
  readonly #reader: ItemReader<Ids>;
  readonly #onEnd: OnEnd;
  readonly #unknownStatuses: UnknownStatuses;
  readonly #onAbort = () => this.#end({ error: this.#call.signal.reason });
  #first: InventoryItem<Ids>[] | undefined;
  #failure: (ReadFailure & { isCut: boolean }) | undefined;
  #isOver = false;

  constructor(answer: OpenAnswer, call: Call, { reader, onEnd }: Reading<Ids>) {
    this.#answer = answer;
    this.#call = call;
    this.#reader = reader;
    this.#unknownStatuses = new UnknownStatuses(call, answer);
    this.#onEnd = onEnd;
  }

  /** Reads the first batch, so that a failure before the first item can be retried. */
  async begin(): Promise<void> {
    this.#first = await this.#read();
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
      if (this.#isOver) return undefined;
      const items = this.#first ?? (await this.#read());
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

  /** Reads until there are items or the list ends. */
  async #read(): Promise<InventoryItem<Ids>[]> {
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

  #end(failed?: { error: unknown }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.signal.removeEventListener('abort', this.#onAbort);
    this.#answer.close();
    this.#onEnd(failed);
  }
}
