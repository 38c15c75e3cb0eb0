import { existsSync } from 'node:fs';
import { fileJournal } from '../../node/file-journal.ts';
import { undoSync } from '../../sync/index.ts';
import type { ExitCode } from '../exit-code.ts';
import { type JobOptions, runJob } from '../job.ts';
import { shellWord } from '../shell-word.ts';
import type { Terminal } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

/** Reverses the changes of a journal's job, or with `--dry-run` shows the changes and their cost. */
export async function undo(path: string, options: JobOptions, terminal: Terminal): Promise<ExitCode> {
  if (options.sandbox) throw new UsageError(`Cannot undo ${path} with --sandbox: that sandbox is new, so no job has changed it`);
  if (!existsSync(path)) throw new UsageError(`Cannot undo ${path}: there is no such file`);
  const undone = fileJournal(path);
  const journal = options.journal ?? `${path}.undo`;
  return runJob(
    {
      name: path,
      title: `undo ${path}`,
      hint: `petstore undo ${shellWord(journal)} reverses it`,
      journal,
      files: { 'the journal of the job': path, '--journal': journal },
      start: (client, settings) => undoSync(client, { ...settings, journal: undone, undoJournal: fileJournal(journal) }),
    },
    options,
    terminal,
  );
}
