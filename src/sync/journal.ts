/**
 * Where a synchronisation writes down what it is about to do, so that it can be killed at any instant and go on.
 *
 * A journal keeps lines of text of at most a few KiB and knows nothing of what they say. It belongs to one job at a time.
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
   * What messages call it, such as its path.
   * @default none
   */
  readonly name?: string;
  /**
   * Every line that was kept, oldest first; none for a new journal. The last one may be torn.
   * @throws JournalError where it cannot be read
   */
  read(): AsyncIterable<string>;
  /**
   * Resolves when the lines are where a crash cannot reach them; they come after all earlier ones.
   * @throws JournalError where they cannot be kept
   */
  append(lines: readonly string[]): Promise<void>;
  /**
   * Called when the job ends, whatever its end. A later `read` or `append` opens it again.
   * @throws JournalError where it cannot be closed
   */
  close?(): Promise<void>;
  /**
   * The journal in which an undo of this job is written down; the same one each time.
   * @default none
   */
  undoJournal?(): Journal;
}

/**
 * A journal that cannot be read or written. What it holds is left as it is.
 *
 * It is no PetStoreError: not the service failed, but the place where the caller keeps the journal.
 *
 * @example
 * const journal = fileJournal('no-such-folder/restock.journal');
 * const error = await syncInventory(petstore, [{ petId: 1, adjust: 5 }], { journal }).catch((thrown) => thrown);
 * console.log(error instanceof JournalError, error.code); // → true ENOENT
 */
export class JournalError extends Error {
  /** The name of the class, also where a minifier renames it. */
  override readonly name = 'JournalError';
  /** Decide by this. */
  readonly kind = 'journal';
  /** The system's code, such as `ENOSPC`, or one of `journal_busy`, `journal_no_file` and the like. */
  readonly code: string | undefined;

  /** For journals of your own. */
  constructor(message: string, { code, cause }: { code?: string; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
