import { seeded } from './random.ts';

/** Turns of the event loop after which nothing is left to do but timers; one is enough for the bodies of the sandbox. */
const TURNS = 2;

/** Whose timers they are: a process, a message on its way. Those of one owner keep their order; a dead one's do not fire. */
export interface Owner {
  readonly id: number;
  readonly isAlive: boolean;
  /** How many of its milliseconds pass in one. */
  readonly rate: number;
}

/** The globals that make timers. */
export type Timers = Pick<typeof globalThis, 'setTimeout' | 'setInterval' | 'clearTimeout' | 'clearInterval'>;

const EVERYBODY: Owner = { id: 0, isAlive: true, rate: 1 };

class Timer {
  isCancelled = false;
  keepsProcess = true;
  atMs = 0;
  /** Which owner comes first among those of one instant. */
  rank = 0;
  readonly order: number;
  readonly everyMs: number | undefined;
  readonly fire: () => void;
  readonly owner: Owner;

  constructor(timer: { order: number; everyMs: number | undefined; fire: () => void; owner: Owner }) {
    this.order = timer.order;
    this.everyMs = timer.everyMs;
    this.fire = timer.fire;
    this.owner = timer.owner;
  }

  ref(): this {
    this.keepsProcess = true;
    return this;
  }

  unref(): this {
    this.keepsProcess = false;
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
  #isShuffled = false;

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Takes over the globals; returns a function that gives them back. */
  install(): () => void {
    const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
    const dateNow = Date.now;
    const performanceNow = performance.now;
    const random = Math.random;
    Object.assign(globalThis, this.timersOf(EVERYBODY));
    Date.now = () => this.#nowMs;
    performance.now = () => this.#nowMs;
    return () => {
      Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
      Object.assign(Math, { random });
      Date.now = dateNow;
      performance.now = performanceNow;
    };
  }

  /** The timers of one owner, by its own clock. */
  timersOf(owner: Owner): Timers {
    const add = (fire: (...values: unknown[]) => void, ms: number | undefined, isRepeated: boolean) =>
      this.#add(fire, owner.rate === 1 ? (ms ?? 0) : Math.ceil((ms ?? 0) / owner.rate), { isRepeated, owner });
    const remove = (timer: unknown) => {
      if (timer instanceof Timer) timer.isCancelled = true;
    };
    return Object.assign(Object.create(null), {
      setTimeout: (fire: () => void, ms?: number) => add(fire, ms, false),
      setInterval: (fire: () => void, ms?: number) => add(fire, ms, true),
      clearTimeout: remove,
      clearInterval: remove,
    });
  }

  /** Begins at an instant, without any timer; chance is decided by `random`. Shuffled, owners take any order within an instant. */
  begin(nowMs: number, random: () => number, { isShuffled = false } = {}): void {
    this.#timers = [];
    this.#nowMs = nowMs;
    this.#made = 0;
    this.#isShuffled = isShuffled;
    Math.random = random;
  }

  /** Resolves when that many milliseconds have passed. */
  wait(ms: number, owner: Owner = EVERYBODY): Promise<void> {
    return new Promise((resolve) => this.#add(resolve, ms, { isRepeated: false, owner }));
  }

  /** How many timers of an owner would keep its process. */
  timersLeft(owner: Owner): number {
    return this.#timers.filter((timer) => timer.owner === owner && !timer.isCancelled && timer.keepsProcess).length;
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
      if (next.owner.isAlive) next.fire();
      if (next.everyMs !== undefined && !next.isCancelled) this.#insert(next, this.#nowMs + next.everyMs);
    }
    return 'spun';
  }

  #add(fire: () => void, ms: number, { isRepeated, owner }: { isRepeated: boolean; owner: Owner }): Timer {
    this.#made += 1;
    // As Node does: whole milliseconds, at least one, and at once what is too long for it.
    const delayMs = ms >= 1 && ms <= 2 ** 31 - 1 ? Math.trunc(ms) : 1;
    const timer = new Timer({ order: this.#made, everyMs: isRepeated ? delayMs : undefined, fire, owner });
    this.#insert(timer, this.#nowMs + delayMs);
    return timer;
  }

  /** Keeps the timers sorted, the next one last; those of one owner and instant fire in the order in which they were made. */
  #insert(timer: Timer, atMs: number): void {
    timer.atMs = atMs;
    timer.rank = this.#isShuffled ? seeded(timer.owner.id * 31 + Math.floor(atMs % 1_000_003))() : 0;
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#isLater(middle, timer)) low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
  }

  #isLater(index: number, { atMs, rank, order }: Timer): boolean {
    const other = this.#timers[index];
    if (other === undefined || other.atMs !== atMs) return other !== undefined && other.atMs > atMs;
    return other.rank === rank ? other.order > order : other.rank > rank;
  }

  #next(): Timer | undefined {
    let next = this.#timers.pop();
    while (next?.isCancelled) next = this.#timers.pop();
    return next;
  }
}
