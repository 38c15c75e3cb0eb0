import { fieldOf } from '../thrown.ts';

/** Codes of a full, broken or read-only disk, of too many open files, and of a file or port that another process uses. */
const CODES: readonly unknown[] = ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EFBIG', 'EMFILE', 'ENFILE', 'EADDRINUSE', 'journal_busy'];
/** The same of SQLite: busy, locked, read-only, I/O error, corrupt, full (sqlite.org/rescode.html). */
const SQLITE_CODES: readonly number[] = [5, 6, 8, 10, 11, 13];

/** Whether a file or port failed although the option that names it may be right. */
export function isStorageFailure(error: unknown): boolean {
  // SQLite's number also says more exactly what failed, in its higher bits.
  return CODES.includes(fieldOf(error, 'code')) || SQLITE_CODES.includes(Number(fieldOf(error, 'errcode')) % 256);
}
