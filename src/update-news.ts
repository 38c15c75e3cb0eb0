import type { Int64, InventoryItem, PetId } from './contract/models.ts';
import type { UpdateOutcome } from './errors.ts';
import { sharedTable } from './shared-table.ts';

/** Follows the closing of a client, and its updates. The methods are called before the updates' promises settle, and must not throw. */
export interface UpdateFollower {
  /** The service confirmed this item. */
  confirmed?(item: InventoryItem<Int64>): void;
  /** An update of the pet ended, and it is unknown whether it was applied. */
  inDoubt?(petId: PetId): void;
  /** The client was closed: its calls no longer succeed. */
  clientClosed?(reason: unknown): void;
}

/** A call that ended. */
interface EndedCall {
  /** The pet of an update; undefined for other calls. */
  readonly petId: PetId | undefined;
  readonly confirmed: InventoryItem<Int64> | undefined;
  readonly outcome: UpdateOutcome;
}

/** A view of one copy of the package may follow a client of another. */
const newsOfClients = sharedTable<UpdateNews>('news.1');
const FEWEST_TO_SWEEP = 64;

/** Informs followers how the updates of one client end, and when the client is closed. It holds the followers weakly. */
export class UpdateNews {
  readonly #followers = new Set<WeakRef<UpdateFollower>>();
  #sweepAt = FEWEST_TO_SWEEP;
  #isTold = false;
  #closedBy: unknown;

  /** The news of a client; undefined until something follows it or it is closed, so that most clients keep nothing. */
  static of(client: object): UpdateNews | undefined {
    return newsOfClients.get(client);
  }

  /** The news of a client, created if there is none yet. */
  static from(client: object): UpdateNews {
    const news = UpdateNews.of(client) ?? new UpdateNews();
    newsOfClients.set(client, news);
    return news;
  }

  /** Whether the client reports its calls: a `PetStoreClient` reports each before its promise settles, a fake reports none. */
  get isTold(): boolean {
    return this.#isTold;
  }

  /** Adds a follower, and tells it if the client is closed already. Returns a function that removes it. */
  follow(follower: UpdateFollower): () => void {
    if (this.#closedBy !== undefined) follower.clientClosed?.(this.#closedBy);
    if (this.#followers.size >= this.#sweepAt) this.#sweepAt = Math.max(FEWEST_TO_SWEEP, 2 * [...this.#living()].length);
    const reference = new WeakRef(follower);
    this.#followers.add(reference);
    return () => {
      this.#followers.delete(reference);
    };
  }

  /** Reports the end of a call. A superseded update was not sent and has no news of its own: the later update reports for both. */
  tell({ petId, confirmed, outcome }: EndedCall): void {
    this.#isTold = true;
    if (petId === undefined) return;
    for (const follower of this.#living()) {
      if (confirmed) follower.confirmed?.(confirmed);
      else if (outcome === 'unknown') follower.inDoubt?.(petId);
    }
  }

  /** The client was closed. */
  tellClosed(reason: unknown): void {
    this.#closedBy = reason;
    for (const follower of this.#living()) follower.clientClosed?.(reason);
  }

  *#living(): Generator<UpdateFollower> {
    for (const reference of this.#followers) {
      const follower = reference.deref();
      if (follower) yield follower;
      else this.#followers.delete(reference);
    }
  }
}
