/**
 * The error that the sandbox throws when it is set up wrongly; the message says what to change.
 *
 * @example
 * try {
 *   createSandbox({ seed: 1.5 });
 * } catch (error) {
 *   console.log(error instanceof SandboxError, String(error)); // → true SandboxError: Cannot use 1.5 as `seed`: it must be a whole number
 * }
 */
export class SandboxError extends Error {
  /** The name of the class, even if a minifier renames the class. */
  override readonly name = 'SandboxError';

  /** Everything but the stack and the cause, ready for a log. */
  toJSON(): object {
    return { ...this, message: this.message };
  }
}

/** Calls a function of the caller's. @throws {SandboxError} that says which one failed, with what it threw as its cause */
export function callOwn<Result>(name: string, own: () => Result): Result {
  try {
    return own();
  } catch (error) {
    throw new SandboxError(`Cannot use ${name}: it threw ${error}`, { cause: error });
  }
}

/** Shows a caller's value in a message: text in quotes, objects and functions only by their kind. */
export function show(value: unknown): string {
  if (typeof value === 'string') return value.length > 60 ? `"${value.slice(0, 60)}..."` : `"${value}"`;
  if (Array.isArray(value)) return 'that list';
  if (typeof value === 'object' && value !== null) return 'that object';
  return typeof value === 'function' ? 'that function' : String(value);
}
