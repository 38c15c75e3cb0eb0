import { saysBanned } from '../contract/http.ts';
import { isPetStoreError, type PetStoreFailure } from '../errors.ts';
import { messageOf, textOf } from '../thrown.ts';
import { askedAddress, askedProxy } from './asked-address.ts';
import { unreadable } from './input/open-input.ts';

/**
 * STATUS stands for the status of the answer. ADDRESS stands for the option or variable that set the address, with the address before it if
 * the message does not name it. ROUTE stands for the proxy, if there is one, else for the network.
 */
const ADVICE = {
  authentication: 'check the key in PETSTORE_API_KEY or PETSTORE_API_KEY_FILE: it is not one of this environment, or is banned for a while',
  banned: 'try again when the ban is over',
  closed: 'try again then',
  'rate-limit': 'try again then',
  connection: 'check ROUTE and ADDRESS, or run `petstore doctor`',
  timeout: 'try again later, or check ADDRESS',
  server: 'try again later',
  login: 'log in to the network with a browser',
  'invalid-response': 'check that ADDRESS is the address of the service',
  'not-found': '`petstore list` shows which pets exist',
  'wrong-address': 'ADDRESS sets the address',
  'unexpected-status': 'check that ADDRESS is the address of the service',
  unnamed: 'ask whoever runs the service: its specification names no STATUS for this request',
} as const;

/** The message of a run without a key or an address, as of a first try. A run that names staging is none. */
const LACKS_SETTINGS = /^Cannot make a client without (?:a key|the production address):/;

/** One line that says what could not be done, why, and what the user can do. */
export function explainError(error: unknown): string {
  if (textOf(error, 'syscall') === 'uv_cwd') return 'Cannot use a relative path: the working folder was removed';
  const message = messageLine(messageOf(error));
  if (!isPetStoreError(error)) return message;
  if (error.kind === 'configuration')
    return `${inWords(message)}${LACKS_SETTINGS.test(message) ? '; or try --sandbox, which needs no key and no address' : ''}`;
  const withOutcome = error.outcome === 'unknown' ? `${message}; it may have been applied` : message;
  const advice = Object.entries(ADVICE).find(([kind]) => kind === adviceKind(error))?.[1];
  if (advice === undefined) return withOutcome;
  const address = askedAddress(error) ?? 'PETSTORE_BASE_URL';
  return `${withOutcome}; ${advice
    .replace('ROUTE', () => routeOf(error))
    .replace('ADDRESS', () => address)
    .replace('STATUS', String(error.status))}`;
}

/** The advice about a status that the specification does not name, such as 403, in an answer that is the service's: it has an Error body. */
export function adviceOnUnnamed(status: unknown): string {
  return ADVICE.unnamed.replace('STATUS', String(status));
}

function routeOf(error: PetStoreFailure): string {
  const proxy = askedProxy(error);
  return proxy ? `the proxy ${proxy.shown}, which ${proxy.variable} names,` : 'the network';
}

/**
 * A 404 without an Error body, or for a list, means that the address is wrong. For a list, the message already says so. An Error body shows
 * that the address is right.
 */
function adviceKind({ kind, code, status, operation, message, retryAt }: PetStoreFailure): string {
  // Answered by the network in place of the service (RFC 6585 section 6).
  if (status === 511) return 'login';
  if (kind === 'authentication' || kind === 'unexpected-status') {
    if (retryAt) return 'closed';
    if (kind === 'authentication') return saysBanned(message) ? 'banned' : kind;
    return (status ?? 0) < 400 || code?.startsWith('http_') ? kind : 'unnamed';
  }
  if (kind === 'not-found' && (operation === 'listInventory' || operation === 'streamInventory')) return 'wrong-address';
  return code === 'http_404' ? 'invalid-response' : kind;
}

const OPTIONS = {
  '`maxChanges`': '--max-changes',
  '`maxWaitMs`': '--max-wait',
  '`attemptTimeoutMs`': '--timeout',
  '`db`': '--db',
  '`cors`': '--cors',
} as const;

/** A message of the client in one line, with the options of the command line in place of the client's. */
export function messageLine(message: string): string {
  return replaced(OPTIONS, oneLine(message));
}

const SETTINGS = {
  'give `apiKey` or set': 'set',
  'as `apiKey`': 'as the key',
  'as `baseUrl`': 'as --base-url',
} as const;

const UNREADABLE_KEY = /(which PETSTORE_API_KEY_FILE names: )(E[A-Z]+): .*$/;

/** Replaces client options in a message by what the command line offers: an option for the address, only a variable for the key. */
export function inWords(message: string): string {
  const named = message.replace(/give `baseUrl[.\w]*`/, 'give --base-url').replace(/from (PETSTORE_\w+) as `\w+`/, 'as $1');
  return replaced(
    SETTINGS,
    named.replace(UNREADABLE_KEY, (_text, start: string, code: string) => start + unreadable(code)),
  );
}

function replaced(words: Readonly<Record<string, string>>, message: string): string {
  return Object.entries(words).reduce((text, [word, other]) => text.replace(word, other), message);
}

/** The fields, stack and cause of an error, for --verbose. */
export function errorDetails(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const fields = isPetStoreError(error) ? `${JSON.stringify(error.toJSON())}\n` : '';
  const cause = error.cause === undefined ? '' : `\ncaused by ${error.cause instanceof Error ? error.cause.stack : String(error.cause)}`;
  return `${fields}${error.stack ?? ''}${cause}`;
}

/** Text without line breaks. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, (space) => (space.includes('\n') ? ' ' : space));
}
