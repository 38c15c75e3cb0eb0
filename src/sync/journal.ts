/**
 * The storage in which a synchronisation records what it is about to do, so that it can be killed at any instant and continue later.
 *
 * A journal keeps lines of text, each of at most a few KiB, and does not interpret them. It belongs to one job at a time.
 *
 * @example
 * const lines: string[] = [];
 * const inMemory: Journal = {
 *   read: async function* () {
 *     yield* lines;
 *   },
 *   append: async (added) => void lines.push(...added),
 * };
 * await syncInventory(petstore, [{ petId: 1, adjust: 5 }], { journal: inMemory });
 * const again = await syncInventory(petstore, [{ petId: 1, adjust: 5 }], { journal: inMemory });
 * console.log(again.updated, again.finishedAt instanceof Date); // → 1 true
 */
export interface Journal {
  /**
   * Its name in messages, such as its path.
   * @default none
   */
  readonly name?: string | undefined;
  /**
   * Reads all lines, oldest first; none for a new journal. The last line may be torn. An abort of the job does not wait for the next line.
   * @throws JournalError when it cannot be read
   */
  read(): AsyncIterable<string>;
  /**
   * Appends lines after all earlier ones, and resolves when they would survive a crash. Also awaited after an abort, so that no record is
   * lost: give up by rejecting.
   * @throws JournalError when they cannot be written
   */
  append(lines: readonly string[]): Promise<void>;
  /**
   * Called when the job ends, even if it fails, and awaited. A later `read` or `append` opens the journal again.
   * @throws JournalError when it cannot be closed
   */
  close?(): Promise<void>;
  /**
   * The journal for an undo of this job; the same one at each call.
   * @default none
   */
  undoJournal?(): Journal;
}

/** The version of new journals. Version 1 has neither `undoes` nor `undo`. */
export const JOURNAL_VERSION = 2;

/** The name of a journal in messages. */
export function named({ name }: Journal): string {
  return name === undefined ? 'this journal' : `journal ${name}`;
}

/**
 * A journal cannot be read or written. Its contents are left unchanged.
 *
 * It is not a PetStoreError, since the caller's storage failed, not the service.
 *
 * @example
 * const journal = fileJournal('no-such-folder/restock.journal');
 * const error = await syncInventory(petstore, [{ petId: 1, adjust: 5 }], { journal }).catch((thrown) => thrown);
 * console.log(error instanceof JournalError, error.code); // → true ENOENT
 */
export class JournalError extends Error {
  /** The name of the class, even if a minifier renames the class. */
  override readonly name = 'JournalError';
  /** The kind of error; the same in all copies of the package. */
  readonly kind = 'journal';
  /**
   * The system's code, such as `ENOSPC`, or `journal_busy`, `journal_no_file`, `journal_removed`, `journal_unreadable` or
   * `journal_version`.
   */
  readonly code: string | undefined;

  /** For your own implementations of `Journal`. */
  constructor(message: string, { code, cause }: { code?: string | undefined; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }

  /** Everything but the stack and the cause, ready for a log. */
  toJSON(): object {
    return { ...this, message: this.message };
  }
}
