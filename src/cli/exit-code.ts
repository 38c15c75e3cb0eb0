import { isPetStoreError } from '../errors.ts';
import { SandboxError } from '../sandbox/sandbox-error.ts';
import { JournalError } from '../sync/journal.ts';
import { isStorageFailure } from './storage-failure.ts';
import { UsageError } from './usage-error.ts';

export const EXIT = {
  done: 0,
  failure: 1,
  usage: 2,
  authentication: 3,
  partlyDone: 4,
  quota: 5,
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Why a command was stopped: SIGINT, SIGTERM, SIGHUP, the time of `--until`, or a lost lock. */
export class Interruption extends DOMException {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode) {
    super(message, 'AbortError');
    this.exitCode = exitCode;
  }
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof Interruption) return error.exitCode;
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof JournalError) return isStorageFailure(error) ? EXIT.failure : EXIT.usage;
  if (error instanceof SandboxError) return isStorageFailure(error.cause) ? EXIT.failure : EXIT.usage;
  if (!isPetStoreError(error)) return EXIT.failure;
  switch (error.kind) {
    case 'authentication':
      return EXIT.authentication;
    case 'configuration':
      if (isStorageFailure(error.cause)) return EXIT.failure;
      return error.option === 'apiKey' ? EXIT.authentication : EXIT.usage;
    case 'invalid-argument':
      return EXIT.usage;
    case 'rate-limit':
      return EXIT.quota;
    default:
      return EXIT.failure;
  }
}
