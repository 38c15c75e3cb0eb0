import { VERSION_SEGMENT } from '../contract/http.ts';
import { ConfigurationError } from '../errors.ts';
import type { Redactor } from '../redactor.ts';
import { isRecord, textOf } from '../thrown.ts';
import { readVariable } from './environment.ts';
import { badOption, refuseUnknown, showValue } from './rules.ts';

/**
 * The two places where the service is reachable (specification, What the service does).
 *
 * @example
 * const environment: Environment = 'staging';
 * const client = new PetStoreClient({ apiKey, baseUrl: { staging: sandbox.staging.baseUrl }, environment });
 */
export type Environment = 'production' | 'staging';

/**
 * One address, which is production's, or one for each environment. Each is https, or http to loopback, and ends in the segment `/v1`
 * (specification, Versioning).
 *
 * @example
 * const addresses: BaseUrl = { production: 'https://shop.example/v1', staging: 'https://staging.shop.example/v1' };
 * console.log(new PetStoreClient({ apiKey, baseUrl: addresses }).baseUrl); // → https://shop.example/v1
 */
export type BaseUrl =
  | string
  | URL
  | {
      /** The address of production. */
      production?: string | URL | undefined;
      /** The address of staging. */
      staging?: string | URL | undefined;
    };

/** The longest address that is shown, in characters: a part would not tell which address is wrong. */
const SHOWN_ADDRESS = 2048;

type HidesKey = Pick<Redactor, 'hide'>;

const VARIABLES = { production: 'PETSTORE_BASE_URL', staging: 'PETSTORE_STAGING_BASE_URL' } as const;

/**
 * Finds the address of an environment, checks it, and gives it without a trailing slash.
 * Staging uses the staging address only, so that it never reaches production by accident.
 */
export function resolveBaseUrl(baseUrl: unknown, environment: Environment, redactor?: HidesKey): string {
  const single = addressText(baseUrl);
  const address = single === undefined ? addressOf(baseUrl, environment) : singleAddress(single, environment, redactor);
  if (address !== undefined) return checkAddress(address, environment, redactor);
  const missing = baseUrl || environment === 'staging' ? `baseUrl.${environment}` : 'baseUrl';
  const message = `Cannot make a client without the ${environment} address: give \`${missing}\` or set ${VARIABLES[environment]}`;
  throw new ConfigurationError(message, { option: 'baseUrl' });
}

/** The text of an address: a string, or a URL, perhaps of another realm; undefined for anything else. */
export function addressText(address: unknown): string | undefined {
  return typeof address === 'string' ? address : textOf(address, 'href');
}

function singleAddress(baseUrl: string, environment: Environment, redactor: HidesKey | undefined): string {
  if (environment === 'production') return baseUrl;
  const message = `Cannot use ${showAddress(baseUrl, redactor)} as \`baseUrl\` with the environment "staging": a single address is production's; it must be { staging: … }, or left out with ${VARIABLES.staging} set`;
  throw new ConfigurationError(message, { option: 'baseUrl' });
}

function addressOf(baseUrl: unknown = {}, environment: Environment): unknown {
  if (!isRecord(baseUrl)) throw badOption('baseUrl', 'an address or { production, staging }', { shown: baseUrl });
  refuseUnknown(baseUrl, Object.keys(VARIABLES), 'baseUrl');
  const given = baseUrl[environment];
  return given === undefined ? readVariable(VARIABLES[environment]) : given;
}

function checkAddress(given: unknown, environment: Environment, redactor: HidesKey | undefined): string {
  const address = addressText(given);
  const url = URL.parse(address ?? '');
  const fault = findFault(url);
  if (url && !fault) return url.href.replace(/\/$/, '');
  const variable = VARIABLES[environment];
  const source = given === readVariable(variable) ? ` from ${variable}` : '';
  const shown = address === undefined ? showValue(given) : showAddress(address, redactor);
  throw new ConfigurationError(`Cannot use ${shown}${source} as \`baseUrl\`: it must be ${fault}`, { option: 'baseUrl' });
}

/** Gives the rule that an address breaks, if any. */
function findFault(url: URL | null): string | undefined {
  if (!url || !/^https?:$/.test(url.protocol)) return 'an absolute http(s) address';
  if (url.username || url.password) return 'free of credentials';
  if (/[?#]/.test(url.href)) return 'free of a query and a fragment';
  if (url.pathname.replace(/\/$/, '').split('/').at(-1) !== VERSION_SEGMENT) return `an address whose path ends in /${VERSION_SEGMENT}`;
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) return 'https, since plain http would show the key to the network';
  return undefined;
}

/** Loopback by the parsed host: localhost and its subdomains (RFC 6761 section 6.3), 127.0.0.0/8, [::1]. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Scheme, host and port of an address: nothing in them is secret. */
export function showOrigin({ protocol, host }: URL): string {
  return `${protocol}//${host}`;
}

/** An address fit to be shown: without credentials, query and fragment. The key is hidden first, since a part of it may be in these. */
export function showAddress(given: string, redactor?: HidesKey): string {
  const address = redactor?.hide(given) ?? given;
  // Credentials are removed first, up to the last @: a password may contain / or ?.
  const plain = address.replace(/^([^/]*\/\/)?.*@/s, '$1');
  return showValue(plain.replace(/[?#].*$/s, ''), SHOWN_ADDRESS);
}
