/** Bytes with a meaning in JSON (RFC 8259 section 2). In UTF-8, none of them is part of another character. */
export const BYTE = {
  tab: 0x09,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  quote: 0x22,
  comma: 0x2c,
  minus: 0x2d,
  zero: 0x30,
  nine: 0x39,
  openList: 0x5b,
  backslash: 0x5c,
  closeList: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
  delete: 0x7f,
} as const;

/** Whether a byte is JSON white space; false for undefined, the end of the bytes. */
export function isSpace(byte: number | undefined): boolean {
  return byte === BYTE.space || byte === BYTE.lineFeed || byte === BYTE.carriageReturn || byte === BYTE.tab;
}

/** The index of the first byte from `start` that is not white space, or the end. */
export function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isSpace(bytes[at])) at += 1;
  return at;
}
