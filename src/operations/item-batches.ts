import type { Call } from '../call.ts';
import { untilAborted } from '../clock/until-aborted.ts';
import type { Int64, InventoryItem } from '../contract/models.ts';
import type { ReadFailure } from '../json/failure.ts';
import { ItemReader } from '../json/item-reader.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';
import { invalidResponse, type OnEnd } from './operation.ts';
import { announceUnknown } from './unknown-statuses.ts';

/** An answer whose items are to be read. */
export interface Reading {
  answer: OpenAnswer;
  call: Call;
  /** Missing for a list that is read while its call is under way. */
  onEnd?: OnEnd;
}

/**
 * Takes a whole list in parts. A promise that a method gives is awaited before the client reads on, unless an abort or a time limit ends
 * the call.
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

/** The items of one answer in batches, each read when it is asked for. */
export class ItemBatches<Ids extends Int64> {
  readonly #answer: OpenAnswer;
  readonly #call: Call;
  readonly #onEnd: OnEnd | undefined;
  readonly #reader: ItemReader<Ids>;
  readonly #announced = new Set<string>();
  readonly #onAbort = () => this.#end({ error: this.#call.signal.reason });
  #first: InventoryItem<Ids>[] | undefined;
  #failure: (ReadFailure & { isCut: boolean }) | undefined;

  constructor(int64: Ids, { answer, call, onEnd }: Reading) {
    this.#answer = answer;
    this.#call = call;
    this.#reader = new ItemReader(int64);
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

  /** Reads all items into a sink. */
  async collect(sink: ListSink<Ids>): Promise<void> {
    await this.#ask(() => sink.begin());
    for (let items = await this.#read(); items.length > 0; items = await this.#read()) {
      // As for a stream: the request is already counted, and a long list would hold up other calls.
      this.#answer.release();
      await this.#ask(() => sink.add(items));
    }
  }

  /** Calls a method of a sink. What it throws ends the call: it is no failure of the service, and no other attempt would help. */
  async #ask(ask: () => unknown): Promise<void> {
    try {
      await untilAborted(Promise.resolve(ask()), this.#call.signal);
    } catch (thrown) {
      this.#call.abort(thrown);
      throw thrown;
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
  async #read(): Promise<InventoryItem<Ids>[]> {
    for (;;) {
      if (this.#failure) throw await invalidResponse(this.#call, this.#answer, this.#failure);
      const chunk = await this.#answer.body.nextWhenAsked();
      const { items, failure } = chunk === undefined ? this.#reader.end() : this.#reader.push(chunk);
      announceUnknown(items, { call: this.#call, answer: this.#answer, announced: this.#announced });
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
