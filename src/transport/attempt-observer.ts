import type { Answer } from '../contract/limits.ts';
import type { ConnectionError, TimeoutError } from '../errors.ts';

/** A failure of the network or the service. Errors of the caller's own code are not included, since they do not mean an outage. */
export type NetworkFailure = ConnectionError | TimeoutError;

/** Is informed at once how an attempt goes. */
export interface AttemptObserver {
  /**
   * The headers of the answer have come. If they closed the gate, returns when it opens again, in epoch milliseconds on the local clock.
   * Calls `report` only after the headers are counted, so that a listener that makes a call finds the gate closed.
   */
  observe(answer: Answer, report: () => void): number | undefined;
  /** No answer came: because of a failure, or (undefined) because the call was aborted or the caller's own code failed. */
  lose(failure: NetworkFailure | undefined): void;
  /** The body was not read: it was cut off or reset, or did not come in time; undefined if the caller's own code failed. */
  fail(failure: NetworkFailure | undefined): void;
  /** Nothing was sent. */
  cancel(): void;
  /** The attempt is over. */
  release(): void;
}
