import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf, textOf } from '../thrown.ts';

/** A mistake in how the command was called; the message says what to change, on one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Why the file that an option such as `--report` names cannot be opened. */
export function cannotOpen(option: string, { path, error }: { path: string; error: unknown }): UsageError {
  const folder = dirname(path);
  const lacksFolder = textOf(error, 'code') === 'ENOENT' && !existsSync(folder);
  return new UsageError(`Cannot use ${option} ${path}: ${lacksFolder ? `its folder ${folder} does not exist` : messageOf(error)}`);
}
