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
