/** A string, or a number outside strings, in a valid JSON text. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** The first integer that a double cannot tell from its neighbour. */
const FIRST_UNSAFE = 2 ** 53;

/**
 * Keeps the numbers of a JSON text that a double may round to an integer, or to another one.
 *
 * In `text`, each number from ±2^53 on, and each with a fraction or an exponent, is replaced by a placeholder: the n-th of them, counted
 * from 0, is 2^53 + 2n. So after parsing, a number from 2^53 on is always a placeholder. Digits in strings are not replaced.
 */
export class LongIntegers {
  readonly text: string;
  readonly #literals: string[] = [];

  /** Takes a text that `JSON.parse` has accepted. */
  constructor(validJson: string) {
    this.text = validJson.replace(STRING_OR_NUMBER, (token) => (isLong(token) ? this.#placeHolder(token) : token));
  }

  /** The exact value behind a placeholder; `undefined` if `value` is not a placeholder, or stands for no integer of up to 19 digits. */
  exact(value: unknown): bigint | undefined {
    const literal = isUnsafe(value) ? this.#literals[(value - FIRST_UNSAFE) / 2] : undefined;
    return literal === undefined ? undefined : exactInteger(literal);
  }

  #placeHolder(literal: string): string {
    return String(FIRST_UNSAFE + 2 * (this.#literals.push(literal) - 1));
  }
}

/** Whether `JSON.parse` may have rounded an integer to this number. */
export function isUnsafe(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) >= FIRST_UNSAFE;
}

const FRACTION_OR_EXPONENT = /[.eE]/;

function isLong(token: string): boolean {
  return !token.startsWith('"') && (FRACTION_OR_EXPONENT.test(token) || isUnsafe(Number(token)));
}

/** An id or quantity with a fraction or an exponent, also if the name is written with an escape. */
const FRACTION_IN_ITEM = /"(?:petId|quantity|[^"\\]*\\[^"]*)"\s*:\s*-?\d+[.eE]/;

/** Whether a JSON text may have an id or quantity with a fraction or an exponent. The first test is much faster. */
export function mayHaveFraction(json: string): boolean {
  return /\d[.eE]/.test(json) && FRACTION_IN_ITEM.test(json);
}

/** A JSON number (RFC 8259 section 6). */
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The most digits that an int64 has. */
const MAX_DIGITS = 19;

/**
 * The value of a JSON number that is mathematically an integer: `1.0` and `10e-1` count as 1.
 *
 * `undefined` for fractions, and for integers of more than 19 digits, which no int64 has.
 */
function exactInteger(literal: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? [];
  const written = whole + fraction;
  const end = endOfSignificantDigits(written);
  const digits = written.slice(0, end).replace(/^0+/, '');
  const zeros = digits === '' ? 0 : Number(exponent) + whole.length - end;
  if (zeros < 0 || digits.length + zeros > MAX_DIGITS) return undefined;
  const size = BigInt(digits + '0'.repeat(zeros));
  return sign === '-' ? -size : size;
}

// A regular expression for zeros at the end would take quadratic time on `10000…01`.
function endOfSignificantDigits(digits: string): number {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return end;
}
