const BYTE_ORDER_MARK = '\uFEFF';
const WHITE_SPACE_AROUND = ' \t\n\r';

/** RFC 8259 section 8.1 lets a reader ignore a byte order mark at the beginning. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

/** Whether a text has more than `limit` bytes of UTF-8, without the JSON white space (RFC 8259 section 2) around it. */
export function isLongerThan(text: string, limit: number): boolean {
  // A UTF-16 unit becomes at most three bytes.
  if (text.length * 3 <= limit) return false;
  const trimmed = withoutSpaceAround(text);
  return trimmed.length > limit || new TextEncoder().encode(trimmed).length > limit;
}

function withoutSpaceAround(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && WHITE_SPACE_AROUND.includes(text.charAt(start))) start += 1;
  while (end > start && WHITE_SPACE_AROUND.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}
