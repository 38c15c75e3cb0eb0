// A value from outside may be anything; a thrown one even an object whose getters throw.

/** Whether it is an error, including one of another realm: Jest runs programs in their own realm, `fetch` throws errors from outside it. */
export function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]';
  } catch {
    return false;
  }
}

/** A field of a thrown value; undefined if it has none. */
export function fieldOf(thrown: unknown, field: PropertyKey): unknown {
  try {
    return Reflect.get(Object(thrown), field);
  } catch {
    return undefined;
  }
}

/** Whether it is an object with fields, and not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The errors of an AggregateError, such as one for each address of a host. */
export function errorsOf(thrown: unknown): unknown[] {
  const several = fieldOf(thrown, 'errors');
  try {
    return Array.isArray(several) ? [...several] : [];
  } catch {
    return [];
  }
}

/** A field of a thrown value, if it is a non-empty string. */
export function textOf(thrown: unknown, field: string): string | undefined {
  const value = fieldOf(thrown, field);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Sets the stack of an error, unless it is frozen. By an assignment, it would in Firefox become a field that `Object.keys` and JSON.stringify
 * include.
 */
export function setStack(error: Error, stack: string): void {
  Reflect.defineProperty(error, 'stack', { value: stack, writable: true, configurable: true });
}

/**
 * Adds to the stack of an error the callers that it lacks: V8 keeps ten frames, and loses the callers of what a timer calls. A stack that a
 * program's own `Error.prepareStackTrace` made something other than text is left as it is.
 * @param later an error that was made two frames below these callers
 */
export function addCallers(error: Error, later: Error): void {
  const stack = textOf(error, 'stack')?.trimEnd();
  // V8 writes `    at name (file:1:2)` below the message, other engines `name@file:1:2`.
  const callers = textOf(later, 'stack')
    ?.split('\n')
    .filter((line) => /^ +at |@/.test(line))
    .slice(2);
  if (stack && callers) setStack(error, [stack, ...callers.slice(callers.indexOf(stack.split('\n').at(-1) ?? '') + 1)].join('\n'));
}

/** Calls a function of the caller, such as a listener or a logger, and ignores what it throws or rejects with. */
export function unharmed(call: () => unknown): void {
  try {
    const given = call();
    // A promise may come from any library.
    if (typeof given === 'object' && given !== null) Promise.resolve(given).catch(() => {});
  } catch {}
}

/** The message of an error, or any other thrown value as text. */
export function messageOf(thrown: unknown): string {
  return textOf(thrown, 'message') ?? showThrown(thrown);
}

/** A thrown value, or the reason of an abort, as text. */
export function showThrown(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'something that cannot be shown';
  }
}
