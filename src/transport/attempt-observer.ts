import type { Answer } from '../contract/limits.ts';
import type { ConnectionError, TimeoutError } from '../errors.ts';

/** Failures of the network or the service. Errors of the caller's own code are not among them: they are no outage. */
export type NetworkFailure = ConnectionError | TimeoutError;

/** Learns at once how an attempt went. */
export interface AttemptObserver {
  /**
   * The headers are in. Gives when the gate opens again if they closed it, in milliseconds on our clock. Calls `report` once they count, so
   * that a listener that makes a call finds the gate closed.
   */
  observe(answer: Answer, report: () => void): number | undefined;
  /** No answer came: for a failure, or (undefined) because the call was aborted or the caller's own code failed. */
  lose(failure: NetworkFailure | undefined): void;
  /** The body was not read: it was cut, reset, or did not come in time; undefined where the caller's own code failed. */
  fail(failure: NetworkFailure | undefined): void;
  /** Nothing was sent. */
  cancel(): void;
  /** The attempt is over. */
  release(): void;
}
