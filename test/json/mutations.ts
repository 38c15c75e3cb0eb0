import { documents, encode, readInParts, readPlainly } from './documents.ts';

/** The documents, each with one change, that `ItemReader` does not read as `JSON.parse` and the schema do. */
export function disagreements(seed: number, count: number): string[] {
  const random = seeded(seed);
  return Array.from({ length: count }, () => disagreement(random)).filter((text) => text !== undefined);
}

function disagreement(random: () => number): string | undefined {
  const bytes = mutate(random);
  const int64 = random() < 0.5 ? 'number' : 'bigint';
  const read = readInParts(bytes, [Math.floor(random() * bytes.length)], int64);
  return same(read, readPlainly(bytes, int64)) ? undefined : new TextDecoder().decode(bytes);
}

/** Mulberry32. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    const mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    const more = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((more ^ (more >>> 14)) >>> 0) / 2 ** 32;
  };
}

const pieces = [
  '',
  '"',
  '\\',
  ',',
  '{',
  '}',
  '[',
  ']',
  '},{',
  ' ',
  '0',
  '-',
  '.',
  'e1',
  '9007199254740993',
  'null',
  '\u00e9',
  '\ud800',
  ':',
  '\n',
];

function mutate(random: () => number): Uint8Array {
  const pick = <T>(values: readonly T[], fallback: T): T => values[Math.floor(random() * values.length)] ?? fallback;
  const text = pick(documents, '[]');
  const at = Math.floor(random() * text.length);
  return encode(text.slice(0, at) + pick(pieces, '') + text.slice(at + Math.floor(random() * 3)));
}

function same(actual: unknown, expected: unknown): boolean {
  const written = (value: unknown) => JSON.stringify(value, (_, field: unknown) => (typeof field === 'bigint' ? `${field}n` : field));
  return written(actual) === written(expected);
}
