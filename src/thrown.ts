// A thrown value may be anything, even an object whose getters throw.

/** Whether it is an error, also one of another realm: Jest runs programs in one of their own, and what `fetch` throws is not of it. */
export function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]';
  } catch {
    return false;
  }
}

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

/** Calls a function of the caller's, such as a listener or a logger, and ignores what it throws or rejects with. */
export function unharmed(call: () => unknown): void {
  try {
    const given = call();
    // A promise may be of any make.
    if (typeof given === 'object' && given !== null) Promise.resolve(given).catch(() => {});
  } catch {}
}

/** The message of an error; of anything else that was thrown, its text. */
export function messageOf(thrown: unknown): string {
  return textOf(thrown, 'message') ?? showThrown(thrown);
}

/** What was thrown, or aborted with, as text. */
export function showThrown(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'something that cannot be shown';
  }
}
