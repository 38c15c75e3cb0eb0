import type { LeaseAnswer } from '../../quota-store.ts';

/** Slots of the common quota that one process holds; they die with their window. Pure: the time is a parameter. */
export class Lease {
  /** The Reset of their window. */
  readonly windowMs: number;
  readonly endsAtMs: number;
  #slots: number;

  /** @param askedAtMs the lease is counted from before the store's answer, so that it surely ends with the window */
  constructor({ granted, windowMs, endsInMs }: Pick<LeaseAnswer, 'granted' | 'windowMs' | 'endsInMs'>, askedAtMs: number) {
    this.#slots = granted;
    this.windowMs = windowMs;
    this.endsAtMs = askedAtMs + endsInMs;
  }

  free(nowMs: number): number {
    return nowMs < this.endsAtMs ? this.#slots : 0;
  }

  use(): void {
    if (this.#slots > 0) this.#slots--;
  }

  giveBack(): void {
    this.#slots++;
  }

  /** Takes all that is left of it. */
  end(nowMs: number): number {
    const left = this.free(nowMs);
    this.#slots = 0;
    return left;
  }
}
