import type { Call } from '../call.ts';
import { ConnectionError, type PetStoreError, TimeoutError } from '../errors.ts';
import type { Redactor } from '../redactor.ts';
import { causesOf, codeOf, safeCause, textOf } from './safe-cause.ts';

/** Failures before a request can have left: the change was surely not applied. The names without underscores are Bun's. */
const NEVER_CONNECTED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/;
/** The same for TLS, whose records may also break later. */
const NO_TLS =
  /^(?:CERT_\w+|\w+_CERT|\w+_CERT_\w+|UNABLE_TO_\w+|ERR_TLS_\w+|ERR_SSL_(?:WRONG_VERSION_NUMBER|\w*PROTOCOL\w*|\w*HANDSHAKE\w*))$/;

/** The error of an attempt whose answer never came, or came broken. */
export function connectionFailure(thrown: unknown, call: Call, redactor: Redactor): PetStoreError {
  const chain = causesOf(thrown);
  const code = chain.map(codeOf).findLast((known) => known !== undefined);
  if (code !== undefined && isBeforeRequest(code, chain)) call.refused('connection');
  const why = code === undefined ? 'the connection failed' : `the connection failed with ${redactor.clean(code, 100)}`;
  return new ConnectionError(`Cannot ${call.purpose}: ${why}`, {
    ...call.details(),
    code: code === undefined ? undefined : redactor.clean(code, 100),
    cause: safeCause(thrown, redactor),
  });
}

/** A connection that was made can break with the same code as one that never was; the system call tells them apart. */
function isBeforeRequest(code: string, chain: readonly unknown[]): boolean {
  if (NO_TLS.test(code)) return true;
  return NEVER_CONNECTED.test(code) && !chain.some((error) => /^(?:read|write)/.test(textOf(error, 'syscall') ?? ''));
}

/** The error of an attempt that took longer than its time limit. */
export function timeLimitFailure(call: Call): TimeoutError {
  const limit = `its \`attemptTimeoutMs\` of ${call.options.attemptTimeoutMs} ms`;
  return new TimeoutError(`Cannot ${call.purpose}: attempt ${call.attempts} had no complete answer within ${limit}`, call.details());
}
