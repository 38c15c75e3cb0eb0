import type Bottleneck from 'bottleneck';
import Light from 'bottleneck/light.js';
import { isRequestBound } from '../../clock/request-bound.ts';

/**
 * Lets waiting calls go, in batches, through a limiter sized to the plan: a second count, independent of the ledger, so that no fault in it
 * can send more than the plan. One batch is in the air at a time.
 */
export class Releaser {
  #limiter: Bottleneck;
  readonly #release: (most: number) => void;
  #isBusy = false;
  // What the limiter still lets through; it tells it only asynchronously.
  #reservoir: number;
  #usedAtMs = Date.now();

  /** @param limit requests in a window; infinite where the plan sets none */
  constructor(limit: number, release: (most: number) => void) {
    this.#release = release;
    this.#reservoir = limit;
    this.#limiter = createLimiter(limit);
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
    if (nowMs < this.#usedAtMs || beginsToCount) this.#limiter = createLimiter(left);
    else if (left !== this.#reservoir) void this.#limiter.incrementReservoir(left - this.#reservoir);
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
    this.#reservoir -= weight;
    const job = async () => this.#release(weight);
    const done = () => {
      this.#isBusy = false;
      onDone();
    };
    this.#limiter.schedule({ weight: Number.isFinite(weight) ? weight : 1 }, job).then(done, done);
    return true;
  }
}

function createLimiter(limit: number): Bottleneck {
  return new Light({ reservoir: Number.isFinite(limit) ? limit : null });
}
