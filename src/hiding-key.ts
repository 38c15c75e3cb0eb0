import { ConfigurationError, type FailureDetails, InvalidArgumentError } from './errors.ts';
import type { TextHider } from './redactor.ts';
import { sharedTable } from './shared-table.ts';

/** The redactor of each client, for code outside the client that shows text of its service or its caller. */
export const redactorOf = sharedTable<TextHider>('redactor');

/**
 * Does something with options or arguments for a client. The error that refuses one of them shows it, and it may be the key by mistake: then
 * the key is hidden.
 */
export function hidingKey<T>(client: object, make: () => T, details?: FailureDetails): T {
  try {
    return make();
  } catch (error) {
    throw withoutKey(client, error, details);
  }
}

/** The error of a bad option or argument without the client's key, a bad option's with these details; any other error as it is. */
function withoutKey(client: object, error: unknown, details?: FailureDetails): unknown {
  const redactor = redactorOf.get(client);
  if (!redactor) return error;
  if (error instanceof InvalidArgumentError) {
    const message = redactor.hide(error.message);
    return message === error.message ? error : new InvalidArgumentError(message, error);
  }
  if (!(error instanceof ConfigurationError)) return error;
  const [message, option] = [redactor.hide(error.message), redactor.hide(error.option)];
  if (!details && message === error.message) return error;
  return new ConfigurationError(message, { ...details, option, cause: error.cause });
}
