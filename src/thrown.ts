// What was thrown may be anything, also what throws when it is looked at.

/** A field of something thrown; undefined where it has none. */
export function fieldOf(thrown: unknown, field: string): unknown {
  try {
    return typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, field) : undefined;
  } catch {
    return undefined;
  }
}

/** A field of something thrown that is a text, and not an empty one. */
export function textOf(thrown: unknown, field: string): string | undefined {
  const value = fieldOf(thrown, field);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** What was thrown, or aborted with, as text. */
export function showThrown(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'something that cannot be shown';
  }
}
