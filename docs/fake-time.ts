/** The globals' time, taken over: timers fire one after the other as soon as nothing else is left to do. */
export class FakeTime {
  readonly #setImmediate = globalThis.setImmediate;
  readonly #timers = new Map<number, { atMs: number; everyMs: number | undefined; fire: () => void }>();
  #nowMs = 0;
  #lastId = 0;

  install(): void {
    Date.now = () => this.#nowMs;
    Object.defineProperty(performance, 'timeOrigin', { value: 0 });
    performance.now = () => this.#nowMs;
    Math.random = createRandom();
    const add = (fire: (...values: unknown[]) => void, ms = 0, isRepeated = false) => {
      const id = ++this.#lastId;
      const delayMs = Math.max(1, ms);
      this.#timers.set(id, { atMs: this.#nowMs + delayMs, everyMs: isRepeated ? delayMs : undefined, fire });
      return Object.assign(Object(id), { unref: () => id, ref: () => id });
    };
    const remove = (timer: unknown) => this.#timers.delete(Number(timer));
    Object.assign(globalThis, {
      setTimeout: (fire: () => void, ms?: number) => add(fire, ms),
      setInterval: (fire: () => void, ms?: number) => add(fire, ms, true),
      clearTimeout: remove,
      clearInterval: remove,
    });
  }

  set(nowMs: number): void {
    this.#timers.clear();
    this.#nowMs = nowMs;
  }

  async run(work: Promise<unknown>, untilMs: number): Promise<void> {
    let isDone = false;
    void work.then(() => {
      isDone = true;
    });
    while (true) {
      for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => this.#setImmediate(resolve));
      if (isDone || this.#nowMs > untilMs) return;
      this.#fireNext();
    }
  }

  #fireNext(): void {
    const [next] = [...this.#timers].sort(([, one], [, other]) => one.atMs - other.atMs);
    if (!next) throw new Error('nothing is left to wait for');
    const [id, timer] = next;
    this.#nowMs = Math.max(this.#nowMs, timer.atMs);
    if (timer.everyMs === undefined) this.#timers.delete(id);
    else this.#timers.set(id, { ...timer, atMs: timer.atMs + timer.everyMs });
    timer.fire();
  }
}

function createRandom(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
