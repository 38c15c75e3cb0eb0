import type { JournalRecord, RecordedError } from './journal-record.ts';
import type { FailedUpdate } from './stock-job.ts';

const KEPT_MESSAGE = 4096;

export function recordError(error: FailedUpdate['error']): RecordedError {
  const { name, kind, message, code, status } = error;
  return { name, kind, message: message.slice(0, KEPT_MESSAGE), code, status, ...('reason' in error && { reason: error.reason }) };
}

/** The record of a pet whose update failed for good. */
export function failedRecord({ petId, quantity, error }: FailedUpdate): JournalRecord {
  return { type: 'failed', petId, quantity, error: recordError(error) };
}
