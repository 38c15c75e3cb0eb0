import { hasMethods } from '../../options/rules.ts';
import type { LeaseAnswer, LeaseAsk, SharedQuota } from '../../quota-store.ts';
import { parseLeaseAnswer } from './lease-answer.ts';

/** A store that takes longer counts as lost. */
const PATIENCE_MS = 600;

/** Told what comes of an ask: a lease that is checked, or why there is none. */
export interface AskOwner {
  leased(answer: LeaseAnswer, askedAtMs: number): void;
  failed(failure: unknown): void;
  /** An outcome came later than the ask. */
  changed(): void;
}

/** Asks a store, one ask at a time. Whatever a store does, its owner hears of a lease or of a failure, unless it gave up before. */
export class StoreAsker {
  readonly #joinAs: (key: string) => SharedQuota;
  readonly #owner: AskOwner;
  #key: string | undefined;
  #shared: SharedQuota | undefined;
  #asked: { atMs: number } | undefined;

  constructor(joinAs: (key: string) => SharedQuota, owner: AskOwner) {
    this.#joinAs = joinAs;
    this.#owner = owner;
  }

  get needsKey(): boolean {
    return this.#key === undefined;
  }

  /** A store that cannot be joined with it counts as lost, until the next ask. */
  takeKey(key: string): void {
    this.#key ??= key;
  }

  /** @throws what the store does */
  join(key: string): void {
    this.#key = key;
    this.#shared ??= this.#joinAs(key);
  }

  /** When the ask that is out is given up; undefined where none is. */
  get givesUpAtMs(): number | undefined {
    return this.#asked && this.#asked.atMs + PATIENCE_MS;
  }

  /** Tells the store, whose answer does not matter. Where that fails, the next ask will too. */
  report(ask: LeaseAsk): void {
    try {
      const told = this.#exchange(ask);
      if (isPromise(told)) Promise.resolve(told).catch(ignore);
    } catch {
      // As above.
    }
  }

  take(ask: LeaseAsk, nowMs: number): void {
    try {
      const told = this.#exchange(ask);
      if (isPromise(told)) this.#settleLater(Promise.resolve(told), nowMs);
      else this.#settle(told, nowMs);
    } catch (failure) {
      this.#owner.failed(failure);
    }
  }

  /** What is answered from now on is for nobody. */
  giveUp(): void {
    this.#asked = undefined;
    this.#owner.failed(`it gave no answer within ${PATIENCE_MS} ms`);
  }

  #exchange(ask: LeaseAsk): unknown {
    if (this.#key === undefined) throw new Error('its key is not known yet');
    this.#shared ??= this.#joinAs(this.#key);
    return this.#shared.exchange(ask);
  }

  #settleLater(answer: Promise<unknown>, atMs: number): void {
    const asked = { atMs };
    this.#asked = asked;
    const end = (settle: () => void) => {
      if (this.#asked !== asked) return;
      this.#asked = undefined;
      settle();
      this.#owner.changed();
    };
    void answer.then(
      (told) => end(() => this.#settle(told, atMs)),
      (failure: unknown) => end(() => this.#owner.failed(failure)),
    );
  }

  #settle(told: unknown, askedAtMs: number): void {
    let answer: LeaseAnswer;
    try {
      answer = parseLeaseAnswer(told);
    } catch (failure) {
      return this.#owner.failed(failure);
    }
    this.#owner.leased(answer, askedAtMs);
  }
}

/** Of any make: one of another realm or of a library is no instance of ours. */
function isPromise(told: unknown): boolean {
  return hasMethods(told, ['then']);
}

function ignore(): void {}
