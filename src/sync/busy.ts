// Apart from `journal.ts`, of which the entry points for Node take only what the main one exports.
import { JournalError } from './journal.ts';

/** The error for a journal, named as in messages, with which another job of this process is at work. */
export function busy(journal: string): JournalError {
  const message = `Cannot use ${journal}: a job of this process is using it; wait for its end, and name journals after their job`;
  return new JournalError(message, { code: 'journal_busy' });
}
