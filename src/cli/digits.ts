import { UsageError } from './usage-error.ts';

/** Parses an argument as an integer. @throws UsageError */
export function digits(name: string, text: string): string {
  if (/^-?\d{1,400}$/.test(text)) return text;
  throw new UsageError(`Cannot use ${JSON.stringify(text.slice(0, 40))} as ${name}: it must be an integer`);
}

/** Parses an argument as a quantity. @throws UsageError */
export function quantityOf(name: string, text: string): number {
  const quantity = Number(digits(name, text));
  if (Number.isSafeInteger(quantity)) return quantity;
  throw new UsageError(`Cannot use ${text.slice(0, 40)} as ${name}: it is beyond ±(2^53−1)`);
}

/** Parses an option as a whole number of up to nine digits, within the bounds if there are any. @throws UsageError */
export function wholeNumber(option: string, text: string, bounds?: { min: number; max: number }): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (bounds ? number >= bounds.min && number <= bounds.max : number >= 0) return number;
  const within = bounds ? ` from ${bounds.min} to ${bounds.max}` : '';
  throw new UsageError(`Cannot use --${option} ${text}: it must be a whole number${within}`);
}
