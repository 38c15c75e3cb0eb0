import type Bottleneck from 'bottleneck';
import { isRequestBound } from '../../clock/request-bound.ts';

interface ReleaserEvents {
  /** Releases up to `most` waiting calls. */
  release: (most: number) => void;
  /** The limiter could not be loaded. */
  fail: (cause: unknown) => void;
  /** A batch is over, so that the next one may be scheduled. */
  done: () => void;
}

/**
 * Releases waiting calls in batches through a limiter of the size that the plan leaves after this process's own requests. So neither a
 * header nor a fault in what the ledger infers from headers can release more than the plan allows. One batch is under way at a time.
 */
export class Releaser {
  // Loaded with the first batch: on most keys no call ever waits.
  #Limiter: typeof Bottleneck | undefined;
  #limiter: Bottleneck | undefined;
  readonly #events: ReleaserEvents;
  #isBusy = false;
  // How much the limiter still lets through, counted here because the limiter reports it only asynchronously.
  #reservoir = 0;
  #usedAtMs = 0;

  constructor(events: ReleaserEvents) {
    this.#events = events;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Sets the limiter to what is left in the window, which is infinite if the plan sets no limit. */
  refill(left: number): void {
    if (isRequestBound()) return;
    const nowMs = Date.now();
    const beginsToCount = this.#reservoir === Number.POSITIVE_INFINITY && left < this.#reservoir;
    // The limiter reads the machine's clock. If that is set back by an hour, the old limiter would hold its next batch for an hour.
    if (nowMs < this.#usedAtMs || beginsToCount) this.#limiter = undefined;
    else if (left !== this.#reservoir) void this.#limiter?.incrementReservoir(left - this.#reservoir);
    this.#usedAtMs = nowMs;
    this.#reservoir = left;
  }

  /** Releases up to `most` (finite) waiting calls as soon as the limiter admits the batch. Returns false if the limiter has no room for any. */
  schedule(most: number): boolean {
    // A job of the limiter would end with the incoming request that started it, and all calls behind it would wait for ever.
    if (isRequestBound()) {
      this.#events.release(most);
      return true;
    }
    const weight = Math.min(most, this.#reservoir);
    if (weight < 1) return false;
    this.#isBusy = true;
    const done = () => {
      this.#isBusy = false;
      this.#events.done();
    };
    this.#pass(weight).then(done, done);
    this.#reservoir -= weight;
    return true;
  }

  #pass(weight: number): Promise<void> {
    const scheduleOn = (limiter: Bottleneck) => limiter.schedule({ weight }, async () => this.#events.release(weight));
    const reservoir = this.#reservoir;
    if (this.#limiter) return scheduleOn(this.#limiter);
    const passFirst = (Limiter: typeof Bottleneck) => {
      this.#Limiter = Limiter;
      this.#limiter = new Limiter({ reservoir: Number.isFinite(reservoir) ? reservoir : null });
      return scheduleOn(this.#limiter);
    };
    if (this.#Limiter) return passFirst(this.#Limiter);
    return import('bottleneck/light.js').then(({ default: Limiter }) => passFirst(Limiter), this.#events.fail);
  }
}
