import type { Answer } from '../contract/limits.ts';
import type { ConnectionError, TimeoutError } from '../errors.ts';

/** What the network or the service did to an attempt: mistakes of the caller's own code are no outage. */
export type NetworkFailure = ConnectionError | TimeoutError;

/** Who is told how an attempt went, at once: the quota of its key. */
export interface AttemptObserver {
  /**
   * The headers are in. Gives when the gate opens again if they closed it, in milliseconds on our clock. Calls `tell` once they count, so
   * that whoever makes a call as it is told of them finds the gate closed.
   */
  heard(answer: Answer, tell: () => void): number | undefined;
  /** No answer came: for a failure, or (undefined) because the call was aborted or the caller's own code failed. */
  lost(failure: NetworkFailure | undefined): void;
  /** The body was not read: it was cut, reset, or did not come in time; undefined where the caller's own code failed. */
  broken(failure: NetworkFailure | undefined): void;
  /** Nothing was sent. */
  unused(): void;
  /** The attempt is over. */
  left(): void;
}
