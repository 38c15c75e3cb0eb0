import type { EndSignal } from './clock/light-signal.ts';
import { untilAborted } from './clock/until-aborted.ts';
import { ConfigurationError, type FailureDetails } from './errors.ts';
import { messageOf } from './thrown.ts';

/** The call that needs a part of the package. */
interface Needing {
  /** `update pet 42`. */
  purpose: string;
  details(): FailureDetails;
  signal: EndSignal;
}

/**
 * Waits for a part of the package that is imported only when a call needs it. The runtime loads it once, however many calls need it.
 * @throws ConfigurationError if it cannot be loaded, or the reason of an abort
 */
export function loadPart<Part>(name: string, call: Needing, imported: Promise<Part>): Promise<Part> {
  const loaded = imported.catch((cause) => {
    throw partNotLoaded(name, call, cause);
  });
  return untilAborted(loaded, call.signal);
}

/** The error if a part is missing from the installed package, or a page could not fetch it. */
export function partNotLoaded(name: string, call: Pick<Needing, 'purpose' | 'details'>, cause: unknown): ConfigurationError {
  const why = messageOf(cause);
  const message = `Cannot ${call.purpose}: ${name}, a part of this package that is loaded when it is needed, cannot be loaded: ${why}`;
  return new ConfigurationError(message, { ...call.details(), option: 'package', cause });
}
