/**
 * What a check looks at, in this order.
 *
 * @example
 * const { findings } = await checkService(petstore);
 * const names: CheckName[] = findings.map(({ check }) => check);
 * console.log(names.includes('answer')); // → true
 */
export type CheckName = 'address' | 'state' | 'proxy' | 'dns' | 'connection' | 'tls' | 'answer' | 'limits' | 'plan' | 'clock';

/**
 * One line of a check: what was found, and what to do about it.
 *
 * @example
 * const { findings } = await checkService(petstore);
 * const problems: Finding[] = findings.filter(({ outcome }) => outcome === 'problem');
 * console.log(problems); // → []
 */
export interface Finding<Name extends string = CheckName> {
  /** What was looked at. */
  check: Name;
  /** `note` is worth knowing; a `problem` is to be solved. */
  outcome: 'ok' | 'note' | 'problem';
  /** What was found, without the key. */
  message: string;
  /** What to do about it. */
  advice?: string;
  /** The guide that tells more, such as `docs/domains.md#an-old-domain-redirects`. */
  see?: string;
  /** The same as values, such as `{ daysLeft: 57 }` of a certificate. */
  facts?: Record<string, unknown>;
}

/** The places of the guides that findings lead to. */
export const GUIDES = {
  noRecord: 'docs/domains.md#there-is-no-dns-record-yet',
  certificate: 'docs/domains.md#the-certificate-is-not-there-yet-or-not-the-right-one',
  redirect: 'docs/domains.md#an-old-domain-redirects',
  removed: 'docs/domains.md#a-domain-was-removed',
  connection: 'docs/errors.md#connectionerror-connection',
  proxy: 'docs/domains.md#a-proxy-is-in-between',
  clock: 'docs/domains.md#the-clocks-differ',
  limits: 'docs/domains.md#the-headers-of-the-limits-are-missing',
  environments: 'docs/domains.md#production-and-staging',
  key: 'docs/errors.md#authenticationerror-authentication',
  quota: 'docs/errors.md#ratelimiterror-rate-limit',
} as const;
