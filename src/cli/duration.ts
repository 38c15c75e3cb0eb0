export { duration } from '../duration.ts';

/** A count and its noun: `1 pet`, `1,000 pets`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
