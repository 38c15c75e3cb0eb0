import { startTimer } from '../../clock/timer.ts';

/** How often to look; slots that nobody used for so long are given back. */
export const IDLE_MS = 150;

/** Looks now and then whether something lies idle; one timer, and none once it is not worth keeping. */
export class IdleWatch {
  readonly #isWorthKeeping: (sinceMs: number) => boolean;
  #touchedAtMs = Number.NEGATIVE_INFINITY;
  #isTimed = false;

  /** @param isWorthKeeping is told since when nobody used it */
  constructor(isWorthKeeping: (sinceMs: number) => boolean) {
    this.#isWorthKeeping = isWorthKeeping;
  }

  touch(nowMs: number): void {
    this.#touchedAtMs = nowMs;
  }

  watch(): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    startTimer(IDLE_MS, () => {
      this.#isTimed = false;
      if (this.#isWorthKeeping(this.#touchedAtMs)) this.watch();
    });
  }
}
