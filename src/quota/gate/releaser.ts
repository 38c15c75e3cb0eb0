import type Bottleneck from 'bottleneck';
import { startTimer } from '../../clock/timer.ts';

/** The limiter releases a batch within a few turns of the event loop. After so many looks, each in a turn of its own, it counts as held. */
const LOOK_EVERY_MS = 1_000;
const LOOKS = 5;

/**
 * Releases waiting calls in batches through a limiter of the size that the plan leaves after this process's own requests. So neither a
 * header nor a fault in what the ledger infers from headers can release more than the plan allows. One batch is under way at a time.
 */
export class Releaser {
  #limiter: Bottleneck | undefined;
  // How much the limiter still lets through, counted here because the limiter reports it only asynchronously.
  #reservoir = 0;
  #usedAtMs = 0;

  /** Sets the limiter to what is left in the window, which is infinite if the plan sets no limit. */
  refill(left: number): void {
    const nowMs = Date.now();
    const beginsToCount = this.#reservoir === Number.POSITIVE_INFINITY && left < this.#reservoir;
    // The limiter reads the machine's clock. If that is set back by an hour, the old limiter would hold its next batch for an hour.
    if (nowMs < this.#usedAtMs || beginsToCount) this.#limiter = undefined;
    else if (left !== this.#reservoir) void this.#limiter?.incrementReservoir(left - this.#reservoir);
    this.#usedAtMs = nowMs;
    this.#reservoir = left;
  }

  /**
   * Calls `release` for up to `most` (finite) waiting calls as soon as the limiter admits the batch. Undefined if the limiter has no room
   * for any; rejects if the limiter cannot be loaded.
   */
  pass(most: number, release: (most: number) => void): Promise<void> | undefined {
    const weight = Math.min(most, this.#reservoir);
    if (weight < 1) return undefined;
    const passing = this.#pass(weight, release);
    this.#reservoir -= weight;
    return passing;
  }

  async #pass(weight: number, release: (most: number) => void): Promise<void> {
    const reservoir = Number.isFinite(this.#reservoir) ? this.#reservoir : null;
    // Loaded with the first batch: on most keys no call ever waits.
    const limiter = this.#limiter ?? new (await import('bottleneck/light.js')).default({ reservoir });
    this.#limiter = limiter;
    const stopTimer = this.#watch(limiter);
    try {
      await limiter.schedule({ weight }, async () => release(weight));
    } catch (failure) {
      if (this.#limiter) throw failure;
    } finally {
      stopTimer();
    }
  }

  /**
   * Stops a limiter that holds its batch, which then rejects. A limiter does so if the machine's clock was set back when the limiter read
   * it, even for a moment. Returns a function that ends this.
   */
  #watch(limiter: Bottleneck): () => void {
    let stopTimer = () => {};
    const look = (left: number) => {
      stopTimer = startTimer(LOOK_EVERY_MS, () => {
        if (left > 1) return look(left - 1);
        this.#limiter = undefined;
        void limiter.stop();
      });
    };
    look(LOOKS);
    return () => stopTimer();
  }
}
