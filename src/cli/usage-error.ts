import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf, textOf } from '../thrown.ts';
import { isStorageFailure } from './storage-failure.ts';

/** A mistake in the command's arguments, options, settings or input; the message says on one line what to change. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The error for a file that was named by an option such as `--report` and cannot be opened. */
export function cannotOpen(option: string, { path, error }: { path: string; error: unknown }): Error {
  const folder = dirname(path);
  const code = textOf(error, 'code');
  const lacksFolder = code === 'ENOENT' && !existsSync(folder);
  const why = lacksFolder ? `its folder ${folder} does not exist` : code === 'ENXIO' ? 'it is a pipe that nothing reads' : messageOf(error);
  const message = `Cannot use ${option} ${path}: ${why}`;
  const Failure = isStorageFailure(error) ? Error : UsageError;
  return new Failure(message, { cause: error });
}
