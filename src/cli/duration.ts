import { duration as exact } from '../duration.ts';

/** A duration in words, rounded up to whole seconds: estimates and countdowns are no more exact. */
export function duration(ms: number): string {
  return exact(Math.ceil(ms / 1000) * 1000);
}

/** A count and its noun: `1 pet`, `1,000 pets`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
