import { isPetStoreError } from '../errors.ts';
import { JournalError } from '../sync/journal.ts';
import type { SyncReport } from '../sync/report.ts';
import { UsageError } from './usage-error.ts';

/** The exit codes. */
export const EXIT = {
  done: 0,
  failure: 1,
  usage: 2,
  authentication: 3,
  partlyDone: 4,
  quota: 5,
  interrupted: 130,
  terminated: 143,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A full or broken disk is no usage error. */
const DISK_CODES: readonly unknown[] = ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EFBIG', 'journal_busy'];

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof JournalError) return DISK_CODES.includes(error.code) ? EXIT.failure : EXIT.usage;
  if (!isPetStoreError(error)) return EXIT.failure;
  switch (error.kind) {
    case 'authentication':
      return EXIT.authentication;
    case 'configuration':
      return error.option === 'apiKey' ? EXIT.authentication : EXIT.usage;
    case 'invalid-argument':
      return EXIT.usage;
    case 'rate-limit':
      return EXIT.quota;
    default:
      return EXIT.failure;
  }
}

/** A wanted pet that does not exist leaves the wanted state out of reach, so that counts as partly done. */
export function exitCodeOfReport({ stopped, failed, missing }: SyncReport): ExitCode {
  if (stopped === 'abort') return EXIT.interrupted;
  if (stopped !== undefined) return EXIT[stopped];
  return failed.length + missing.length > 0 ? EXIT.partlyDone : EXIT.done;
}
