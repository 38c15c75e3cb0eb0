import { UsageError } from './usage-error.ts';

/** Gives an argument that is an integer. @throws UsageError */
export function digits(name: string, text: string): string {
  if (/^-?\d{1,400}$/.test(text)) return text;
  throw new UsageError(`Cannot use ${JSON.stringify(text.slice(0, 40))} as ${name}: it must be an integer`);
}

/** Gives an argument that is a quantity. @throws UsageError */
export function quantityOf(name: string, text: string): number {
  const quantity = Number(digits(name, text));
  if (Number.isSafeInteger(quantity)) return quantity;
  throw new UsageError(`Cannot use ${text.slice(0, 40)} as ${name}: it is beyond ±(2^53−1)`);
}
