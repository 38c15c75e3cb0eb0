import { exactInteger } from './exact-integer.ts';

/** A string, or a number outside of strings, in a text that is known to be valid JSON. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** The first integer that a double cannot tell from its neighbour. */
const FIRST_UNSAFE = 2 ** 53;

/**
 * Keeps the integers of a JSON text that a double would round.
 *
 * `text` is the same document with the n-th of them written as 2^53 + 2n. All others are replaced, so that a parsed number from
 * 2^53 on can only be such a place holder, and a string stays a string whatever it holds.
 */
export class LongIntegers {
  readonly text: string;
  readonly #literals: string[] = [];

  /** Takes a text that `JSON.parse` has accepted. */
  constructor(validJson: string) {
    this.text = validJson.replace(STRING_OR_NUMBER, (token) => (isLong(token) ? this.#placeHolder(token) : token));
  }

  /** The exact value behind a place holder; `undefined` when it is no place holder, or no integer of fewer than 20 digits. */
  exact(value: unknown): bigint | undefined {
    const literal = isUnsafe(value) ? this.#literals[(value - FIRST_UNSAFE) / 2] : undefined;
    return literal === undefined ? undefined : exactInteger(literal);
  }

  #placeHolder(literal: string): string {
    return String(FIRST_UNSAFE + 2 * (this.#literals.push(literal) - 1));
  }
}

/** Tells whether `JSON.parse` may have rounded an integer to this number. */
export function isUnsafe(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) >= FIRST_UNSAFE;
}

function isLong(token: string): boolean {
  return !token.startsWith('"') && isUnsafe(Number(token));
}
