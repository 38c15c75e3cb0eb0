/**
 * The steps of a check, in this order.
 *
 * @example
 * const { findings } = await checkService(petstore);
 * const names: CheckName[] = findings.map(({ check }) => check);
 * console.log(names.includes('answer')); // → true
 */
export type CheckName = 'address' | 'state' | 'proxy' | 'dns' | 'connection' | 'tls' | 'answer' | 'limits' | 'plan' | 'clock';

/**
 * One line of a check: what was found, and what the user can do.
 *
 * @example
 * const { findings } = await checkService(petstore);
 * const problems: Finding[] = findings.filter(({ outcome }) => outcome === 'problem');
 * console.log(problems); // → []
 */
export interface Finding<Name extends string = CheckName> {
  /** The step that was checked. */
  check: Name;
  /** A `note` is worth knowing; a `problem` has to be solved. */
  outcome: 'ok' | 'note' | 'problem';
  /** What was found, without the key. */
  message: string;
  /** What the user can do. */
  advice?: string;
  /** The guide with more information, such as `docs/domains.md#an-old-domain-redirects`. */
  see?: string;
  /** What was found, as values, such as `{ daysLeft: 57 }` of a certificate. */
  facts?: Record<string, unknown>;
}

export function isProblem({ outcome }: Finding<string>): boolean {
  return outcome === 'problem';
}

/** A finding as a note without advice. */
export function asNote<Name extends string>({ check, facts }: Finding<Name>, message: string): Finding<Name> {
  return { check, outcome: 'note', message, ...(facts && { facts }) };
}

/** The sections of the guides to which findings refer. */
export const GUIDES = {
  noRecord: 'docs/domains.md#there-is-no-dns-record-yet',
  certificate: 'docs/domains.md#the-certificate-is-not-there-yet-or-not-the-right-one',
  redirect: 'docs/domains.md#an-old-domain-redirects',
  removed: 'docs/domains.md#a-domain-was-removed',
  connection: 'docs/errors.md#connectionerror-connection',
  timeout: 'docs/errors.md#timeouterror-timeout',
  proxy: 'docs/domains.md#a-proxy-is-in-between',
  clock: 'docs/domains.md#the-clocks-differ',
  limits: 'docs/domains.md#the-headers-of-the-limits-are-missing',
  environments: 'docs/domains.md#production-and-staging',
  clientCertificate: 'docs/network.md#a-client-certificate',
  http2: 'docs/network.md#http2',
  key: 'docs/errors.md#authenticationerror-authentication',
  quota: 'docs/errors.md#ratelimiterror-rate-limit',
} as const;
