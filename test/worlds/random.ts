/** Chance that a seed decides. */
export interface Draw {
  /** True in so many of 1. */
  chance(part: number): boolean;
  /** One of these, each as likely as the others. */
  of<T>(...values: readonly T[]): T;
  /** A whole number from one to the other. */
  whole(from: number, to: number): number;
  /** A whole number, small ones as likely as large ones. */
  log(from: number, to: number): number;
  /** A number of two digits. */
  part(from: number, to: number): number;
}

/** A series of numbers from 0 to 1 that a seed decides (a Weyl sequence, hashed). */
export function seeded(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let hash = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97);
    return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32;
  };
}

export function drawing(seed: number): Draw {
  const random = seeded(seed);
  const between = (from: number, to: number) => from + random() * (to - from);
  return {
    chance: (part) => random() < part,
    of: (...values) => {
      const value = values[Math.floor(random() * values.length)];
      if (value === undefined) throw new Error('there is nothing to draw from');
      return value;
    },
    whole: (from, to) => Math.floor(between(from, to + 1)),
    log: (from, to) => Math.round(Math.exp(between(Math.log(from), Math.log(to)))),
    part: (from, to) => Math.round(between(from, to) * 100) / 100,
  };
}
