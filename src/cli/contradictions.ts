import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { textOf } from '../thrown.ts';
import { linkedFrom } from './replace-file.ts';
import { UsageError } from './usage-error.ts';

interface Contradicting {
  sandbox?: boolean;
  baseUrl?: string;
  environment?: unknown;
  quotaStore?: string;
  state?: boolean;
}

/** Refuses common options that contradict each other. @throws UsageError */
export function refuseContradictions({ sandbox, baseUrl, environment, quotaStore, state }: Contradicting): void {
  if (sandbox)
    refuseGiven({ '--base-url': baseUrl, '--environment': environment }, 'with --sandbox, which uses no other service; leave one out');
  refuseSharing({ '--quota-store': quotaStore }, { sandbox, state });
}

/** Refuses options that need other runs, for a run that shares nothing with them. @throws UsageError */
export function refuseSharing(
  options: Readonly<Record<string, unknown>>,
  { sandbox, state }: { sandbox?: boolean | undefined; state?: boolean | undefined },
): void {
  if (sandbox) refuseGiven(options, 'with --sandbox, which shares nothing; leave one out');
  if (state === false) refuseGiven(options, 'with --no-state, which shares nothing; leave one out');
}

/** @throws UsageError for the first of these options that is given */
export function refuseGiven(options: Readonly<Record<string, unknown>>, why: string): void {
  const given = Object.entries(options).find(([, value]) => value !== undefined && value !== false);
  if (given) throw new UsageError(`Cannot use ${given[0]} ${why}`);
}

/** @throws UsageError if two of these paths, given by their names in messages, are the same file, so that one use would destroy the other */
export function refuseSameFile(files: Readonly<Record<string, string | undefined>>): void {
  const names = new Map<string, string>();
  for (const [name, path] of Object.entries(files)) {
    if (path === undefined || path === '') continue;
    const identity = identityOf(path);
    const known = names.get(identity);
    if (known !== undefined) throw new UsageError(`Cannot use ${path} as ${name}: it is ${known} already`);
    names.set(identity, name);
  }
}

/** Identifies a file, whatever link leads to it, even if there is none yet. A path that leads nowhere stands for itself: opening it fails. */
function identityOf(path: string): string {
  try {
    const file = statSync(path, { bigint: true });
    return file.isFile() ? `${file.dev}:${file.ino}` : resolve(path);
  } catch (error) {
    return textOf(error, 'code') === 'ENOENT' ? placeOf(path) : resolve(path);
  }
}

/** The one path of a file that is not there yet. */
function placeOf(path: string): string {
  try {
    const place = linkedFrom(path);
    return join(realpathSync(dirname(place)), basename(place));
  } catch {
    return resolve(path);
  }
}
