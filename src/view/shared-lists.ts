import type { PetStoreApi } from '../api.ts';
import type { Int64 } from '../contract/models.ts';
import type { HeldStock } from './held-stock.ts';
import { type ListNeed, type ListReader, ListRun } from './list-run.ts';

interface ListsParts<Ids extends Int64> {
  client: PetStoreApi<Ids>;
  held: HeldStock;
  /** Called when the request of a list is sent. */
  onLeave: () => void;
  /** Called when the current list has ended; `failed` only if readers still waited for it. */
  onEnd: (failed: { error: unknown } | undefined) => void;
}

/** The lists of a view: one at a time, each for all readers that it suffices for. */
export class SharedLists<Ids extends Int64> {
  readonly #parts: ListsParts<Ids>;
  #current: ListRun<Ids> | undefined;
  // The next list, for readers for whom the current one is too old.
  #next: ListRun<Ids> | undefined;

  constructor(parts: ListsParts<Ids>) {
    this.#parts = parts;
  }

  /** Whether the request of a list is in flight. */
  get isReading(): boolean {
    return this.#current?.hasLeft === true;
  }

  /** Resolves when a list as new as needed is complete; rejects with its error, or the signal's reason. */
  async wait(need: ListNeed, reader: ListReader): Promise<void> {
    reader.signal?.throwIfAborted();
    if (this.#current?.meets(need)) return this.#current.join(reader);
    if (this.#current) {
      this.#next ??= this.#make();
      return this.#next.join(reader);
    }
    const run = this.#make();
    this.#current = run;
    const joined = run.join(reader);
    run.start();
    return joined;
  }

  /** Ends all lists for all readers. */
  close(reason: unknown): void {
    const [current, next] = [this.#current, this.#next];
    next?.close(reason);
    current?.close(reason);
  }

  #make(): ListRun<Ids> {
    const { client, held, onLeave } = this.#parts;
    return new ListRun({ client, held, onLeave, onEnd: (run, failed) => this.#end(run, failed) });
  }

  #end(run: ListRun<Ids>, failed: { error: unknown } | undefined): void {
    if (run === this.#next) {
      this.#next = undefined;
      return;
    }
    const next = this.#next;
    this.#current = next;
    this.#next = undefined;
    this.#parts.onEnd(failed);
    // The callback may have started another list, or ended this one.
    if (this.#current === next) next?.start();
  }
}
