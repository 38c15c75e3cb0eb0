/**
 * Where a synchronisation writes down what it is about to do, so that it can be killed at any instant and go on.
 *
 * A journal keeps lines of text of at most a few KiB and knows nothing of what they say. It belongs to one job at a time.
 */
export interface Journal {
  /** What messages call it, such as its path. */
  readonly name?: string;
  /** Every line that was kept, oldest first; none for a new journal. The last one may be torn. */
  read(): AsyncIterable<string>;
  /** Resolves when the lines are where a crash cannot reach them; they come after all earlier ones. */
  append(lines: readonly string[]): Promise<void>;
  /** Called when the job ends, whatever its end. A later `read` or `append` opens it again. */
  close?(): Promise<void>;
}

/**
 * A journal that cannot be read or written. What it holds is left as it is.
 *
 * It is no PetStoreError: not the service failed, but the place where the caller keeps the journal.
 */
export class JournalError extends Error {
  override readonly name = 'JournalError';
  readonly kind = 'journal';
  /** The system's code, such as `ENOSPC`, or one of `journal_busy`, `journal_no_file` and the like. */
  readonly code: string | undefined;

  constructor(message: string, { code, cause }: { code?: string; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
