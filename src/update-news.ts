import type { Int64, InventoryItem, PetId } from './contract/models.ts';
import type { UpdateOutcome } from './errors.ts';

/** A follower of a client's updates, called before their promises settle, and of its end. Must not throw. */
export interface UpdateFollower {
  /** The service confirmed this item. */
  confirmed(item: InventoryItem<Int64>): void;
  /** An update of the pet ended, and may have been applied or not. */
  inDoubt(petId: PetId): void;
  /** The client was closed: no call of it succeeds any more. */
  clientClosed(reason: unknown): void;
}

/** A call that ended. */
interface EndedCall {
  /** Of an update. */
  readonly petId: PetId | undefined;
  readonly confirmed: InventoryItem<Int64> | undefined;
  readonly outcome: UpdateOutcome;
}

const newsOfClients = new WeakMap<object, UpdateNews>();
const FEWEST_TO_SWEEP = 64;

/** Tells followers how the updates of one client end, and when the client is closed. It keeps none of them alive. */
export class UpdateNews {
  readonly #followers = new Set<WeakRef<UpdateFollower>>();
  #sweepAt = FEWEST_TO_SWEEP;
  #isTold = false;

  /** The news of a client; undefined until something follows it, so that a client without views keeps nothing. */
  static of(client: object): UpdateNews | undefined {
    return newsOfClients.get(client);
  }

  /** The same, made where there is none. */
  static from(client: object): UpdateNews {
    const known = newsOfClients.get(client);
    if (known) return known;
    const news = new UpdateNews();
    newsOfClients.set(client, news);
    return news;
  }

  /** Whether the client tells of its calls: ours tells of each before its promise settles, a fake of none. */
  get isTold(): boolean {
    return this.#isTold;
  }

  /** Gives a function that ends this. */
  follow(follower: UpdateFollower): () => void {
    if (this.#followers.size >= this.#sweepAt) this.#sweep();
    const reference = new WeakRef(follower);
    this.#followers.add(reference);
    return () => {
      this.#followers.delete(reference);
    };
  }

  /** A superseded update was not sent and has nothing of its own to tell: the later one tells for both. */
  tell({ petId, confirmed, outcome }: EndedCall): void {
    this.#isTold = true;
    if (petId === undefined) return;
    for (const follower of this.#living()) {
      if (confirmed) follower.confirmed(confirmed);
      else if (outcome === 'unknown') follower.inDoubt(petId);
    }
  }

  /** The client was closed. */
  tellClosed(reason: unknown): void {
    for (const follower of this.#living()) follower.clientClosed(reason);
  }

  *#living(): Generator<UpdateFollower> {
    for (const reference of this.#followers) {
      const follower = reference.deref();
      if (follower) yield follower;
      else this.#followers.delete(reference);
    }
  }

  #sweep(): void {
    for (const reference of this.#followers) if (!reference.deref()) this.#followers.delete(reference);
    this.#sweepAt = Math.max(FEWEST_TO_SWEEP, 2 * this.#followers.size);
  }
}
