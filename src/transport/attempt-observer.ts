import type { Answer } from '../contract/limits.ts';
import type { PetStoreError } from '../errors.ts';

/** Who is told how an attempt went, at once: the quota of its key. */
export interface AttemptObserver {
  /** The headers are in. Gives when the gate opens again if they closed it, in milliseconds on our clock. */
  heard(answer: Answer): number | undefined;
  /** No answer came: for a failure, or (undefined) because the call was aborted. */
  lost(failure: PetStoreError | undefined): void;
  /** The body broke after its headers: it was cut, reset, or did not come in time. */
  broken(failure: PetStoreError): void;
  /** Nothing was sent. */
  unused(): void;
  /** The attempt is over. */
  left(): void;
}
