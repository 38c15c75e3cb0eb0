import type { PetStoreApi } from './api.ts';
import type { Int64 } from './contract/models.ts';

const departuresOfClients = new WeakMap<object, Departures>();

/** Reports when the requests of lists are sent, or have failed, from the events of one client. It only listens while a list is being read. */
export class Departures {
  readonly #listen: NonNullable<PetStoreApi['on']>;
  readonly #onLeave = new Map<number, (hasLeft: boolean) => void>();
  #stops: (() => void)[] = [];

  /** The departures of a client; undefined if the client has no events. */
  static of(client: PetStoreApi<Int64> | PetStoreApi): Departures | undefined {
    const listen = client.on?.bind(client);
    if (!listen) return undefined;
    const known = departuresOfClients.get(client);
    if (known) return known;
    const departures = new Departures(listen);
    departuresOfClients.set(client, departures);
    return departures;
  }

  constructor(listen: NonNullable<PetStoreApi['on']>) {
    this.#listen = listen;
  }

  /**
   * Calls `begin`, which has to start one list synchronously, and `onLeave` with true whenever a request of that list is sent, and with
   * false when it has failed and another one follows. Returns a function that ends this; undefined if no list started, so that its
   * requests cannot be identified.
   */
  watch(begin: () => void, onLeave: (hasLeft: boolean) => void): (() => void) | undefined {
    if (this.#stops.length === 0) this.#stops = [this.#follow('request', true), this.#follow('retry', false)];
    let id = Number.POSITIVE_INFINITY;
    const stopStarted = this.#listen('started', ({ callId, operation }) => {
      // A listener may start lists of its own, which get later numbers than ours.
      if (operation !== 'streamInventory' || callId > id) return;
      if (this.#onLeave.get(id) === onLeave) this.#onLeave.delete(id);
      id = callId;
      this.#onLeave.set(id, onLeave);
    });
    begin();
    stopStarted();
    const stop = () => this.#forget(id);
    if (id === Number.POSITIVE_INFINITY) return void stop();
    return stop;
  }

  #follow(name: 'request' | 'retry', hasLeft: boolean): () => void {
    return this.#listen(name, ({ callId }) => this.#onLeave.get(callId)?.(hasLeft));
  }

  #forget(id: number): void {
    this.#onLeave.delete(id);
    if (this.#onLeave.size > 0) return;
    for (const stop of this.#stops.splice(0)) stop();
  }
}
