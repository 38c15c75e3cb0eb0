import type { ClientEvents, PetStoreClient, StockView } from 'petstore-inventory';
import { seeded } from '../worlds/random.ts';
import type { VirtualTime } from '../worlds/virtual-time.ts';
import type { Disk } from './disk.ts';
import type { Network } from './network.ts';
import type { Program, Surroundings } from './program.ts';
import type { Store } from './store.ts';
import type { ClockSettings, ProcessSettings } from './story.ts';

/** What processes have in common. */
export interface World {
  readonly time: VirtualTime;
  readonly startMs: number;
  readonly network: Network;
  readonly store: Store | undefined;
  readonly address: { readonly apiKey: string; readonly baseUrl: string };
  readonly start: (surroundings: Surroundings) => Program;
  /** Called before each step that a crash could come before. */
  readonly step: (life: Life, what: string) => Promise<void>;
}

/** One process from its start until it is killed, or until the end. */
export class Life {
  readonly owner: { id: number; isAlive: boolean; rate: number };
  readonly settings: ProcessSettings;
  readonly number: number;
  readonly program: Program;
  readonly client: PetStoreClient;
  readonly disk: Disk;
  readonly started: number[] = [];
  readonly settled = new Map<number, ClientEvents['settled']>();
  /** Calls with a second `settled`. */
  readonly settledAgain: number[] = [];
  readonly requests = new Map<number, number>();
  /** Its client was closed while it lives. */
  isClosed = false;
  /** What it did so far that a crash could come before. */
  steps = 0;
  /** What listens to the signals of calls, by what was called. */
  readonly #heard = new Map<string, ReadonlySet<unknown>>();
  #view: StockView | undefined;

  constructor(world: World, settings: ProcessSettings, { number, disk, id }: { number: number; disk: Disk; id: number }) {
    this.owner = { id, isAlive: true, rate: settings.clock.rate };
    this.settings = settings;
    this.number = number;
    this.disk = disk;
    const sender = { owner: this.owner, name: settings.name, life: number, step: (what: string) => world.step(this, what) };
    this.program = world.start({
      timers: world.time.timersOf(this.owner),
      ...clockOf(world, settings.clock),
      random: seeded(id * 7_919 + world.startMs),
      files: disk.filesFor(sender),
    });
    this.client = new this.program.PetStoreClient({
      ...world.address,
      ...settings.client,
      ...(settings.renewal && { apiKey: this.#renewing(world, settings.renewal.takesMs) }),
      fetch: world.network.fetchFor(sender),
      quotaStore: world.store?.reachedBy({ owner: this.owner, name: settings.name, program: this.program }),
    });
    this.client.on('started', ({ callId }) => this.started.push(callId));
    this.client.on('request', ({ callId }) => this.requests.set(callId, (this.requests.get(callId) ?? 0) + 1));
    this.client.on('settled', (event) => {
      if (this.settled.has(event.callId)) this.settledAgain.push(event.callId);
      this.settled.set(event.callId, event);
    });
  }

  /** The first key has been replaced; who asks again is given the new one. */
  #renewing({ time, address }: World, takesMs: number): () => Promise<string> {
    let asked = 0;
    return async () => {
      await time.wait(takesMs, this.owner);
      return asked++ === 0 ? 'psk_replaced' : address.apiKey;
    };
  }

  get name(): string {
    return this.settings.name;
  }

  get view(): StockView {
    this.#view ??= new this.program.StockView(this.client, this.settings.view);
    return this.#view;
  }

  /** A signal whose listeners are counted. */
  newSignal(name: string): AbortController {
    const controller = new AbortController();
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    const heard = new Set<unknown>();
    this.#heard.set(name, heard);
    signal.addEventListener = (type: string, listener: EventListenerOrEventListenerObject, options?: AddEventListenerOptions | boolean) => {
      heard.add(listener);
      add(type, listener, options);
    };
    signal.removeEventListener = (type: string, listener: EventListenerOrEventListenerObject) => {
      heard.delete(listener);
      remove(type, listener);
    };
    add('abort', () => heard.clear());
    return controller;
  }

  /** The calls to whose signals somebody still listens. */
  get listeningTo(): string[] {
    return [...this.#heard].filter(([, heard]) => heard.size > 0).map(([name]) => name);
  }

  /** Tells those whose calls it ends. */
  closeClient(): void {
    this.isClosed = true;
    this.client.close();
  }

  close(): void {
    this.#view?.close();
    this.client.close();
  }

  kill(): void {
    this.owner.isAlive = false;
    this.disk.lose(this.owner);
  }
}

function clockOf({ time, startMs }: World, { aheadMs, rate, steps }: ClockSettings): Pick<Surroundings, 'wallMs' | 'monotonicMs'> {
  const passedMs = () => (time.nowMs - startMs) * rate;
  const setByMs = () => steps.reduce((sum, { atMs, byMs }) => (time.nowMs - startMs >= atMs ? sum + byMs : sum), 0);
  return { monotonicMs: () => 5_000 + passedMs(), wallMs: () => Math.floor(startMs + passedMs()) + aheadMs + setByMs() };
}
