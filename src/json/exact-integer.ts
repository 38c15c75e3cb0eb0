const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The most digits that an int64 has. */
const MAX_DIGITS = 19;

/**
 * The value of a JSON number (RFC 8259 section 6) that is mathematically an integer: `1.0` and `10e-1` count as 1.
 *
 * `undefined` for fractions, and for integers of more than 19 digits, which no int64 has.
 */
export function exactInteger(literal: string): bigint | undefined {
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
