import { UsageError } from './usage-error.ts';

interface Contradicting {
  sandbox?: boolean;
  baseUrl?: string;
  environment?: unknown;
  quotaStore?: string;
  state?: boolean;
}

/** Refuses common options of which one would have no effect. @throws UsageError */
export function refuseContradictions({ sandbox, baseUrl, environment, quotaStore, state }: Contradicting): void {
  if (sandbox) {
    refuseGiven(
      { '--base-url': baseUrl, '--environment': environment, '--quota-store': quotaStore },
      'with --sandbox: that sandbox is inside this process, and shares nothing',
    );
  } else if (state === false) {
    refuseGiven({ '--quota-store': quotaStore }, 'with --no-state, which shares nothing; leave one out');
  }
}

/** @throws UsageError for the first of these options that is given */
export function refuseGiven(options: Readonly<Record<string, unknown>>, why: string): void {
  const given = Object.entries(options).find(([, value]) => value !== undefined && value !== false);
  if (given) throw new UsageError(`Cannot use ${given[0]} ${why}`);
}
