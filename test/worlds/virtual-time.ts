/** Turns of the event loop after which nothing is left to do but timers; one is enough for the bodies of the sandbox. */
const TURNS = 2;

class Timer {
  isCancelled = false;
  atMs: number;
  readonly order: number;
  readonly everyMs: number | undefined;
  readonly fire: () => void;

  constructor(timer: { atMs: number; order: number; everyMs: number | undefined; fire: () => void }) {
    this.atMs = timer.atMs;
    this.order = timer.order;
    this.everyMs = timer.everyMs;
    this.fire = timer.fire;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** How a run ended: `hung` where nothing was left to wait for, or not before the end; `spun` after too many timers. */
export type Ending = 'done' | 'hung' | 'spun';

/** The clock and the timers of a process, which pass as soon as nothing else is left to do. */
export class VirtualTime {
  readonly #setImmediate = globalThis.setImmediate;
  #timers: Timer[] = [];
  #nowMs = 0;
  #made = 0;

  /** Takes over the globals; returns a function that gives them back. */
  install(): () => void {
    const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
    const dateNow = Date.now;
    const performanceNow = performance.now;
    const random = Math.random;
    const add = (fire: (...values: unknown[]) => void, ms: number | undefined, isRepeated: boolean) => this.#add(fire, ms ?? 0, isRepeated);
    const remove = (timer: unknown) => {
      if (timer instanceof Timer) timer.isCancelled = true;
    };
    Object.assign(globalThis, {
      setTimeout: (fire: () => void, ms?: number) => add(fire, ms, false),
      setInterval: (fire: () => void, ms?: number) => add(fire, ms, true),
      clearTimeout: remove,
      clearInterval: remove,
    });
    Date.now = () => this.#nowMs;
    performance.now = () => this.#nowMs;
    return () => {
      Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
      Object.assign(Math, { random });
      Date.now = dateNow;
      performance.now = performanceNow;
    };
  }

  /** Begins at an instant, without any timer; chance is decided by `random`. */
  begin(nowMs: number, random: () => number): void {
    this.#timers = [];
    this.#nowMs = nowMs;
    Math.random = random;
  }

  /** Resolves when that many milliseconds have passed. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#add(resolve, ms, false));
  }

  /** Lets time pass until the work is done. */
  async run(work: Promise<unknown>, { untilMs, mostTimers }: { untilMs: number; mostTimers: number }): Promise<Ending> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    for (let fired = 0; fired < mostTimers; fired++) {
      for (let turn = 0; turn < TURNS && !isDone; turn++) await new Promise((resolve) => this.#setImmediate(resolve));
      if (isDone) return 'done';
      const next = this.#next();
      if (next === undefined || next.atMs > untilMs) return 'hung';
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.fire();
      if (next.everyMs !== undefined && !next.isCancelled) this.#insert(next, this.#nowMs + next.everyMs);
    }
    return 'spun';
  }

  #add(fire: () => void, ms: number, isRepeated: boolean): Timer {
    this.#made += 1;
    // As Node does: whole milliseconds, at least one, and at once what is too long for it.
    const delayMs = ms >= 1 && ms <= 2 ** 31 - 1 ? Math.trunc(ms) : 1;
    const timer = new Timer({ atMs: 0, order: this.#made, everyMs: isRepeated ? delayMs : undefined, fire });
    this.#insert(timer, this.#nowMs + delayMs);
    return timer;
  }

  /** Keeps the timers sorted, the next one last; those of one instant fire in the order in which they were made. */
  #insert(timer: Timer, atMs: number): void {
    timer.atMs = atMs;
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#isLater(middle, timer)) low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
  }

  #isLater(index: number, { atMs, order }: Timer): boolean {
    const other = this.#timers[index];
    return other !== undefined && (other.atMs > atMs || (other.atMs === atMs && other.order > order));
  }

  #next(): Timer | undefined {
    let next = this.#timers.pop();
    while (next?.isCancelled) next = this.#timers.pop();
    return next;
  }
}
