import { setFlagsFromString } from 'node:v8';
import { fileJournal } from '../../node/file-journal.ts';
import { type ReviewedChange, syncInventory } from '../../sync/index.ts';
import type { ExitCode } from '../exit-code.ts';
import { InputCheck, type InputRules } from '../input/input-check.ts';
import { inputName } from '../input/open-input.ts';
import { readInput } from '../input/read-input.ts';
import { type JobOptions, runJob } from '../job.ts';
import { wholeNumber } from '../option-values.ts';
import { tell } from '../tell.ts';
import type { Terminal } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

export interface SyncCommandOptions extends JobOptions {
  allowNegative?: boolean;
  allowEmpty?: boolean;
  unique?: boolean;
  maxBadRows: string;
  rejects?: string;
}

/** Brings the stock to the state that a file describes, or with `--dry-run` shows the changes and their cost. */
export async function sync(path: string, options: SyncCommandOptions, terminal: Terminal): Promise<ExitCode> {
  // Reading a million rows makes much garbage and keeps little, so V8 would let its young generation grow by 100 MB. Only this command sets
  // the flag: Node recompiles each of its own modules that it loads after that, which would double the time of a short command.
  setFlagsFromString('--semi-space-growth-factor=1');
  const { journal, rejects } = options;
  const name = inputName(path);
  const input = new InputCheck(name, inputRules(options), (line) => tell(terminal, line));
  return runJob(
    {
      name,
      journal,
      // The shell may have redirected a file to stdin.
      files: { 'the input': path === '-' ? '/dev/stdin' : path, '--journal': journal, '--rejects': rejects },
      start: (client, settings) => {
        const rows = readInput(path, { terminal, signal: settings.signal });
        return syncInventory(client, input.entries(rows), { ...settings, ...(journal !== undefined && { journal: fileJournal(journal) }) });
      },
      review: (changes) => refuseNegative(changes, name, options),
      title: `sync ${name}`,
      input,
    },
    options,
    terminal,
  );
}

function inputRules({ maxBadRows, rejects, unique = false, allowEmpty = false }: SyncCommandOptions): InputRules {
  return { maxBadRows: wholeNumber('max-bad-rows', maxBadRows, { min: 0, max: 999_999_999 }), rejects, allowEmpty, isUnique: unique };
}

/** Refuses a stock below zero, which is probably a typing error, although the service may accept it. */
function refuseNegative(changes: Iterable<ReviewedChange>, name: string, { allowNegative }: SyncCommandOptions): void {
  if (allowNegative) return;
  for (const { petId, from, to, adjust } of changes) {
    if (to >= 0) continue;
    const what = `${adjust === undefined ? 'it' : `the adjustment ${adjust}`} would take pet ${petId} from ${from} to ${to}`;
    throw new UsageError(`Cannot use ${name}: ${what}; correct it, or allow it with --allow-negative`);
  }
}
