import type Bottleneck from 'bottleneck';
import { isRequestBound } from '../../clock/request-bound.ts';

interface ReleaserEvents {
  /** Lets up to `most` waiting calls go. */
  release: (most: number) => void;
  /** The limiter could not be loaded. */
  fail: (cause: unknown) => void;
}

/**
 * Lets waiting calls go, in batches, through a limiter sized to the plan: a second count, independent of the ledger, so that no fault in it
 * can send more than the plan. One batch is in the air at a time.
 */
export class Releaser {
  // Loaded with the first batch: on most keys no call ever waits.
  #Limiter: typeof Bottleneck | undefined;
  #limiter: Bottleneck | undefined;
  readonly #release: (most: number) => void;
  readonly #fail: (cause: unknown) => void;
  #isBusy = false;
  // What the limiter still lets through; it tells it only asynchronously.
  #reservoir: number;
  #usedAtMs = Date.now();

  /** @param limit requests in a window; infinite where the plan sets none */
  constructor(limit: number, { release, fail }: ReleaserEvents) {
    this.#release = release;
    this.#fail = fail;
    this.#reservoir = limit;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Brings the limiter to what the window leaves. */
  refill(left: number): void {
    if (isRequestBound()) return;
    const nowMs = Date.now();
    const beginsToCount = this.#reservoir === Number.POSITIVE_INFINITY && left < this.#reservoir;
    // The limiter reads the machine's clock: set back by an hour, it would hold its next batch for an hour.
    if (nowMs < this.#usedAtMs || beginsToCount) this.#limiter = undefined;
    else if (left !== this.#reservoir) void this.#limiter?.incrementReservoir(left - this.#reservoir);
    this.#usedAtMs = nowMs;
    this.#reservoir = left;
  }

  /** Lets up to `most` waiting calls go as soon as the limiter has taken the batch. Gives false where it takes none. */
  schedule(most: number, onDone: () => void): boolean {
    // The limiter's jobs would end with the request that happened to start them, and everybody behind them would wait for ever.
    if (isRequestBound()) {
      this.#release(most);
      return true;
    }
    const weight = Math.min(most, this.#reservoir);
    if (weight < 1) return false;
    this.#isBusy = true;
    const done = () => {
      this.#isBusy = false;
      onDone();
    };
    this.#pass(weight).then(done, done);
    this.#reservoir -= weight;
    return true;
  }

  #pass(weight: number): Promise<void> {
    const job = async () => this.#release(weight);
    const reservoir = this.#reservoir;
    if (this.#limiter) return schedule(this.#limiter, weight, job);
    const passFirst = (Limiter: typeof Bottleneck) => {
      this.#Limiter = Limiter;
      this.#limiter = new Limiter({ reservoir: Number.isFinite(reservoir) ? reservoir : null });
      return schedule(this.#limiter, weight, job);
    };
    if (this.#Limiter) return passFirst(this.#Limiter);
    return import('bottleneck/light.js').then(({ default: Limiter }) => passFirst(Limiter), this.#fail);
  }
}

function schedule(limiter: Bottleneck, weight: number, job: () => Promise<void>): Promise<void> {
  return limiter.schedule({ weight: Number.isFinite(weight) ? weight : 1 }, job);
}
