/** Something that whoever called the command has to change; the message says what, on one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
