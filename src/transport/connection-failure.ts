import type { Call } from '../call.ts';
import { isCertificateCode, meaningOf } from '../certificate-codes.ts';
import { duration } from '../duration.ts';
import { ConfigurationError, ConnectionError, type PetStoreError, TimeoutError } from '../errors.ts';
import { isBrowser } from '../options/environment.ts';
import { isProxyCode, proxyCode } from '../proxy-codes.ts';
import type { TextHider } from '../redactor.ts';
import { fieldOf, textOf } from '../thrown.ts';
import { describeRefusal, proxyRefusal } from './proxy-refusal.ts';
import { causesOf, innermostCode, safeCause } from './safe-cause.ts';

const SHOWN_REASON = 300;

/** Failures before a request can have left: the change was not applied. The names without underscores are Bun's; Deno gives a message alone. */
const NEVER_CONNECTED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$|: client error \(Connect\)/;
/**
 * The same for TLS: errors of the handshake only, since TLS records may also break later. Node writes some names with a slash:
 * `SSL/TLS_ALERT_HANDSHAKE_FAILURE`.
 */
const NO_TLS = /^(?:ERR_TLS_\w+|ERR_SSL_(?:WRONG_VERSION_NUMBER|[\w/]*PROTOCOL\w*|[\w/]*HANDSHAKE\w*))$/;

/**
 * What Node (`--permission`, from 25 on) and Deno say if they do not permit a connection. Their code and name are also those of a refused
 * file, which a `fetch` of the caller may use after the request was sent.
 */
const NOT_PERMITTED = /^(?:connect|getaddrinfo) ERR_ACCESS_DENIED|^Requires net access/;

/** The service that the request is for, and the redactor that keeps the key out of error messages. */
export interface Asked {
  baseUrl: string;
  redactor: TextHider;
  /** Whether the headers of an answer have come: then the request was sent, whatever breaks its body. */
  isAnswered?: boolean;
}

/** The error of an attempt whose answer never came or was broken. */
export function connectionFailure(thrown: unknown, call: Call, asked: Asked): PetStoreError {
  const chain = causesOf(thrown);
  const { code, why } = findReason(chain, asked.redactor);
  // Our own fetch (`undiciFetch`) knows whether the request was sent, even if its dispatcher sent it again, and names the setting.
  const isUnsent = chain.map((error) => fieldOf(error, 'isUnsent')).find((known) => typeof known === 'boolean');
  const forbidden = asked.isAnswered ? undefined : findForbidden(why, chain, asked);
  if (!asked.isAnswered && (isUnsent ?? (forbidden || isBeforeRequest(code ?? why, chain)))) call.refused('connection');
  const details = { ...call.details(), code, cause: safeCause(thrown, asked.redactor) };
  if (forbidden) return new ConfigurationError(`Cannot ${call.purpose}: ${forbidden}`, { ...details, option: 'baseUrl' });
  const setting = chain.map((error) => textOf(error, 'setting')).find((found) => found !== undefined);
  // A page learns no more, also if it may not read the answer (CORS).
  const hint = code === undefined && isBrowser() && "the browser's console says why";
  const reason = [why, setting && `look at ${asked.redactor.clean(setting)}`, hint].filter((part) => part).join('; ');
  return new ConnectionError(`Cannot ${call.purpose}: the connection to ${hostOf(asked)} failed${reason && `: ${reason}`}`, details);
}

/** Why the runtime refuses every connection to this address, so that no other attempt can succeed; undefined if it does not. */
function findForbidden(why: string, chain: readonly unknown[], asked: Asked): string | undefined {
  // Node's message for a port that the fetch standard blocks (section Port blocking). Browsers give no reason.
  if (why === 'bad port') return `fetch refuses the port of ${hostOf(asked)}; use another`;
  if (chain.some((error) => NOT_PERMITTED.test(textOf(error, 'message') ?? '')))
    return `this process may not connect to ${hostOf(asked)} without --allow-net`;
  return undefined;
}

interface Reason {
  code: string | undefined;
  /** Empty if nothing is known. */
  why: string;
}

function findReason(chain: readonly unknown[], redactor: TextHider): Reason {
  const refusal = proxyRefusal(chain);
  if (refusal !== undefined) return { code: proxyCode(refusal), why: describeRefusal(refusal) };
  const found = innermostCode(chain);
  // Without a code, only the messages are known. A fetch may throw a text, and give a Response as the cause.
  const said = chain.map((error) => (typeof error === 'string' ? error : textOf(error, 'message'))).findLast((text) => text);
  if (found === undefined) return { code: undefined, why: redactor.clean(said ?? '', SHOWN_REASON) };
  const code = redactor.clean(found, SHOWN_REASON);
  return { code, why: [code, meaningOf(found)].filter((part) => part !== undefined).join(': ') };
}

/** The host with its port, for messages. */
function hostOf({ baseUrl, redactor }: Asked): string {
  return redactor.clean(new URL(baseUrl).host);
}

/**
 * Whether a failure came before the request, by its code, or by its message if it has none. A connection can break with the code of one that
 * was never made; the system call differs.
 */
function isBeforeRequest(code: string, chain: readonly unknown[]): boolean {
  if (isCertificateCode(code) || isProxyCode(code) || NO_TLS.test(code)) return true;
  const calls = chain.map((error) => textOf(error, 'syscall') ?? '');
  return calls.includes('connect') || (NEVER_CONNECTED.test(code) && !calls.some((call) => /^(?:read|write)/.test(call)));
}

/** The error of an attempt that took longer than its time limit. */
export function timeLimitFailure(call: Call, asked: Asked): TimeoutError {
  const limit = `its \`attemptTimeoutMs\` of ${duration(call.options.attemptTimeoutMs)}`;
  return new TimeoutError(
    `Cannot ${call.purpose}: attempt ${call.attempts} had no complete answer from ${hostOf(asked)} within ${limit}`,
    call.details(),
  );
}
