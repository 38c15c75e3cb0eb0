import type { Int64, InventoryItem, PetId } from './contract/models.ts';
import type { UpdateOutcome } from './errors.ts';

/** What follows the updates of a client, told before their promises settle. Must not throw. */
export interface UpdateFollower {
  /** The service confirmed that the pet is now so. */
  confirmed(item: InventoryItem<Int64>): void;
  /** An update of the pet ended, and may have been applied or not. */
  inDoubt(petId: PetId): void;
}

/** An update that ended. */
interface EndedUpdate {
  readonly petId: PetId | undefined;
  readonly confirmed: InventoryItem<Int64> | undefined;
  readonly outcome: UpdateOutcome;
}

const newsOfClients = new WeakMap<object, UpdateNews>();
const FEWEST_TO_SWEEP = 64;

/** Tells followers how the updates of one client end. It keeps none of them alive, and costs nothing while there are none. */
export class UpdateNews {
  #followers: Set<WeakRef<UpdateFollower>> | undefined;
  #sweepAt = FEWEST_TO_SWEEP;

  /** The news of a client; undefined for what is no client of ours, such as a fake. */
  static of(client: object): UpdateNews | undefined {
    return newsOfClients.get(client);
  }

  constructor(client: object) {
    newsOfClients.set(client, this);
  }

  /** Gives a function that ends this. */
  follow(follower: UpdateFollower): () => void {
    this.#followers ??= new Set();
    if (this.#followers.size >= this.#sweepAt) this.#sweep();
    const reference = new WeakRef(follower);
    this.#followers.add(reference);
    return () => {
      this.#followers?.delete(reference);
    };
  }

  tell({ petId, confirmed, outcome }: EndedUpdate): void {
    if (!this.#followers || petId === undefined) return;
    for (const reference of this.#followers) {
      const follower = reference.deref();
      if (!follower) this.#followers.delete(reference);
      else if (confirmed) follower.confirmed(confirmed);
      else if (outcome === 'unknown') follower.inDoubt(petId);
    }
  }

  #sweep(): void {
    for (const reference of this.#followers ?? []) if (!reference.deref()) this.#followers?.delete(reference);
    this.#sweepAt = Math.max(FEWEST_TO_SWEEP, 2 * (this.#followers?.size ?? 0));
  }
}
