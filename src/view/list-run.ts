import { collect, type PetStoreApi } from '../api.ts';
import { type Deferred, defer } from '../clock/deferred.ts';
import type { Int64 } from '../contract/models.ts';
import { Departures } from '../departures.ts';
import type { Departure, HeldStock } from './held-stock.ts';
import type { StockColumns } from './stock-columns.ts';

/** The list that a reader needs: one that was sent at `sinceMs` or later, and after a stamp. */
export interface ListNeed {
  sinceMs: number;
  afterStamp: number;
}

/** A reader that waits for a list. */
export interface ListReader {
  signal: AbortSignal | undefined;
  isLow: boolean;
}

interface RunParts<Ids extends Int64> {
  client: PetStoreApi<Ids>;
  held: HeldStock;
  /** Called when a request of the list is sent. */
  onLeave: () => void;
  /** Called when the list has ended, before its readers are. */
  onEnd(run: ListRun<Ids>, failed: { error: unknown } | undefined): void;
}

/** One list for all its readers. It is aborted when the last reader leaves. */
export class ListRun<Ids extends Int64> {
  readonly #parts: RunParts<Ids>;
  readonly #waiting = new Set<Deferred<void>>();
  #controller: AbortController | undefined;
  #departure: Departure | undefined;
  #isLow = true;
  #isOver = false;

  constructor(parts: RunParts<Ids>) {
    this.#parts = parts;
  }

  /** Whether its request was sent, and has not failed. */
  get hasLeft(): boolean {
    return this.#departure !== undefined;
  }

  /** Whether the list is as new as needed; true if it has not been sent yet, or will be sent again. */
  meets({ sinceMs, afterStamp }: ListNeed): boolean {
    return this.#departure === undefined || (this.#departure.atMs >= sinceMs && this.#departure.stamp > afterStamp);
  }

  /** Resolves when the list is complete; rejects with its error, or the signal's reason. */
  async join({ signal, isLow }: ListReader): Promise<void> {
    const turn = defer<void>();
    const onAbort = () => turn.reject(signal?.reason);
    signal?.addEventListener('abort', onAbort);
    this.#waiting.add(turn);
    if (!isLow) this.#raise();
    try {
      await turn.promise;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#waiting.delete(turn);
      if (this.#waiting.size === 0) this.#end({ error: undefined });
    }
  }

  /** Sends the request. */
  start(): void {
    const controller = new AbortController();
    this.#controller = controller;
    this.#read(controller).then(
      () => this.#end(undefined, controller),
      (error: unknown) => this.#end({ error }, controller),
    );
  }

  /** Ends it for all readers. */
  close(reason: unknown): void {
    this.#end({ error: reason });
  }

  /** A list of low priority would wait behind all normal calls. If its request is not in flight, one of normal priority replaces it. */
  #raise(): void {
    if (!this.#isLow) return;
    this.#isLow = false;
    if (!this.#controller || this.#departure) return;
    const waiting = this.#controller;
    this.start();
    waiting.abort(new DOMException('A list of normal priority replaces this one', 'AbortError'));
  }

  async #read(controller: AbortController): Promise<void> {
    const { client, held } = this.#parts;
    const { signal } = controller;
    let columns: StockColumns | undefined;
    const read = () =>
      collect(client.streamInventory({ signal, priority: this.#isLow ? 'low' : 'normal' }), {
        begin: () => {
          columns = held.begin();
        },
        add: (items) => {
          // An aborted list reads no further, even if the client's stream continues.
          signal.throwIfAborted();
          columns?.add(items);
          const [first] = items;
          if (first) held.areIdsBigint = typeof first.petId === 'bigint';
        },
      });
    const { reading, stop } = this.#begin(read, controller);
    try {
      await reading;
      signal.throwIfAborted();
      if (columns && this.#departure) held.replace(columns, this.#departure);
    } finally {
      stop();
    }
  }

  /** Starts the call, and records when it is sent. */
  #begin(read: () => Promise<void>, controller: AbortController): { reading: Promise<void>; stop: () => void } {
    let reading: Promise<void> | undefined;
    const begin = () => {
      reading ??= read();
    };
    const stop = Departures.of(this.#parts.client)?.watch(begin, (hasLeft) => this.#leave(controller, hasLeft));
    if (!stop) this.#leave(controller);
    return { reading: reading ?? read(), stop: stop ?? (() => {}) };
  }

  /** A request of the list was sent, or has failed; then the next one leaves later. */
  #leave(controller: AbortController, hasLeft = true): void {
    if (this.#isOver || this.#controller !== controller) return;
    this.#departure = hasLeft ? this.#parts.held.depart() : undefined;
    if (hasLeft) this.#parts.onLeave();
    else this.#parts.held.abandon();
  }

  /** Ends the list. `controller` belongs to the request that ended; one that was replaced does not end the list. */
  #end(failed: { error: unknown } | undefined, controller = this.#controller): void {
    if (this.#isOver || this.#controller !== controller) return;
    this.#isOver = true;
    // What was confirmed since another list left is still needed by that one.
    if (failed && this.#departure) this.#parts.held.abandon();
    if (failed) this.#controller?.abort(new DOMException('No reader waits for this list', 'AbortError'));
    this.#parts.onEnd(this, this.#waiting.size > 0 ? failed : undefined);
    for (const turn of this.#waiting) {
      if (failed) turn.reject(failed.error);
      else turn.resolve();
    }
  }
}
