import type { PetStoreApi } from '../api.ts';
import type { Int64 } from '../contract/models.ts';

const departuresOfClients = new WeakMap<object, Departures>();

/** Tells when the requests of lists leave, by the events of one client; it listens only while a list is under way. */
export class Departures {
  readonly #listen: NonNullable<PetStoreApi['on']>;
  readonly #onLeave = new Map<number, () => void>();
  #stop: (() => void) | undefined;

  /** The departures of a client that tells events. */
  static of(client: PetStoreApi<Int64> | PetStoreApi): Departures | undefined {
    if (!client.on) return undefined;
    const known = departuresOfClients.get(client);
    if (known) return known;
    const departures = new Departures((name, listener) => client.on?.(name, listener) ?? ignore);
    departuresOfClients.set(client, departures);
    return departures;
  }

  constructor(listen: NonNullable<PetStoreApi['on']>) {
    this.#listen = listen;
  }

  /**
   * Calls `begin`, which begins one list in its turn, and `onLeave` whenever a request of that list leaves. Gives what ends this;
   * undefined where no list began, so that its requests cannot be told from others.
   */
  watch(begin: () => void, onLeave: () => void): (() => void) | undefined {
    this.#stop ??= this.#listen('request', ({ callId }) => this.#onLeave.get(callId)?.());
    let id: number | undefined;
    const stopStarted = this.#listen('started', ({ callId, operation }) => {
      if (operation !== 'streamInventory') return;
      // A listener that was told before may have begun a list of its own: ours is the last.
      if (id !== undefined) this.#onLeave.delete(id);
      id = callId;
      this.#onLeave.set(callId, onLeave);
    });
    begin();
    stopStarted();
    const stop = () => this.#forget(id);
    if (id === undefined) return void stop();
    return stop;
  }

  #forget(id: number | undefined): void {
    if (id !== undefined) this.#onLeave.delete(id);
    if (this.#onLeave.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }
}

function ignore(): void {}
