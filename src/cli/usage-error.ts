/** A mistake in how the command was called; the message says what to change, on one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
