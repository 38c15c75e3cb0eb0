import type { LeaseRequest, LeaseResponse, QuotaStore } from 'petstore-inventory';
import { emptyRecord, type QuotaRecord } from '../../src/node/quota-record.ts';
import type { Owner, VirtualTime } from '../worlds/virtual-time.ts';
import type { Program } from './program.ts';
import type { StoreSettings } from './story.ts';

/** A process that shares the quota, by the rules of its program. */
interface Sharer {
  readonly owner: Owner;
  readonly name: string;
  readonly program: Program;
}

/** The store of the fleet's quota: the rules of leases behind a network, with outages, restarts and failovers. */
export class Store {
  /** Slots that were granted although the store had been told that the key is closed. */
  readonly wrongGrants: string[] = [];
  #record: QuotaRecord = emptyRecord();
  #closedUntilMs = 0;
  #copy = '';
  readonly #listeners = new Set<(closedForMs: number) => void>();
  readonly #time: VirtualTime;
  readonly #settings: StoreSettings;
  readonly #startMs: number;
  readonly #tell: (line: string) => void;
  #messages = 0;

  constructor(time: VirtualTime, settings: StoreSettings, { startMs, tell }: { startMs: number; tell: (line: string) => void }) {
    this.#time = time;
    this.#settings = settings;
    this.#startMs = startMs;
    this.#tell = tell;
    for (const atMs of settings.emptyAtMs) this.#at(atMs, () => this.#restart());
    for (const { copiedAtMs, atMs } of settings.failovers) {
      this.#at(copiedAtMs, () => this.#keepCopy());
      this.#at(atMs, () => this.#failOver());
    }
  }

  /** The store as one process reaches it. */
  reachedBy(sharer: Sharer): QuotaStore {
    return {
      processes: this.#settings.processes,
      isCheap: this.#settings.isCheap,
      join: (_key, onClosed) => {
        if (this.#settings.publishes) this.#listeners.add((ms) => void this.#publish(sharer.owner, () => onClosed(ms)));
        return { exchange: (request) => this.#exchange(request, sharer) };
      },
    };
  }

  async #exchange(request: LeaseRequest, { owner, name, program }: Sharer): Promise<LeaseResponse> {
    await this.#travel();
    if (this.#isStalled) {
      await this.#time.wait(500, owner);
      throw new Error('Redis did not answer within 500 ms');
    }
    const nowMs = this.#time.nowMs;
    const response = program.exchangeLease(this.#record, structuredClone(request), nowMs);
    this.#tell(
      `store ${name} wants ${request.wanted} returns ${request.returned}: granted ${response.granted} ${response.reason} ${response.waitMs}`,
    );
    this.#closedUntilMs = Math.max(this.#closedUntilMs, nowMs + request.closedForMs);
    if (response.granted > 0 && nowMs < this.#closedUntilMs) this.wrongGrants.push(`${name} was granted ${response.granted}`);
    if (request.closedForMs > 0) for (const listener of this.#listeners) listener(request.closedForMs);
    await this.#travel();
    if (!owner.isAlive) await new Promise(() => {});
    return response;
  }

  async #publish(owner: Owner, hear: () => void): Promise<void> {
    await this.#travel();
    if (owner.isAlive) hear();
  }

  #travel(): Promise<void> {
    this.#messages += 1;
    const jitterMs = Math.random() * this.#settings.latencyMs;
    return this.#time.wait(this.#settings.latencyMs / 2 + jitterMs, { id: 5_000_000 + this.#messages, isAlive: true, rate: 1 });
  }

  get #isStalled(): boolean {
    const sinceMs = this.#time.nowMs - this.#startMs;
    return this.#settings.stalls.some(({ fromMs, toMs }) => sinceMs >= fromMs && sinceMs < toMs);
  }

  #at(atMs: number, act: () => void): void {
    void this.#time.wait(atMs).then(act);
  }

  #restart(): void {
    this.#tell('store restarts empty');
    this.#record = emptyRecord();
    this.#closedUntilMs = 0;
  }

  #keepCopy(): void {
    this.#copy = JSON.stringify(this.#record);
  }

  #failOver(): void {
    if (this.#copy === '') return;
    this.#tell('store fails over to an older state');
    this.#record = { ...emptyRecord(), ...JSON.parse(this.#copy) };
    this.#closedUntilMs = 0;
  }
}
