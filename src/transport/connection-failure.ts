import type { Call } from '../call.ts';
import { isCertificateCode } from '../certificate-codes.ts';
import { ConnectionError, type PetStoreError, TimeoutError } from '../errors.ts';
import type { Redactor } from '../redactor.ts';
import { textOf } from '../thrown.ts';
import { causesOf, innermostCode, safeCause } from './safe-cause.ts';

const SHOWN_REASON = 100;

/** Failures before a request can have left: the change was surely not applied. The names without underscores are Bun's. */
const NEVER_CONNECTED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/;
/** The same for TLS, whose records may also break later. Node writes some names with a slash: `SSL/TLS_ALERT_HANDSHAKE_FAILURE`. */
const NO_TLS = /^(?:ERR_TLS_\w+|ERR_SSL_(?:WRONG_VERSION_NUMBER|[\w/]*PROTOCOL\w*|[\w/]*HANDSHAKE\w*))$/;

/** The service that is asked, and what keeps the key out of its failures. */
export interface Asked {
  baseUrl: string;
  redactor: Redactor;
}

/** The error of an attempt whose answer never came, or came broken. */
export function connectionFailure(thrown: unknown, call: Call, asked: Asked): PetStoreError {
  const { redactor } = asked;
  const chain = causesOf(thrown);
  const found = innermostCode(thrown);
  if (found !== undefined && isBeforeRequest(found, chain)) call.refused('connection');
  const code = found && redactor.clean(found, SHOWN_REASON);
  // Without a code, what the innermost cause says is all that is known.
  const reason = code ?? redactor.clean(textOf(chain.at(-1), 'message') ?? '', SHOWN_REASON);
  const why = reason && `: ${reason}`;
  return new ConnectionError(`Cannot ${call.purpose}: the connection to ${hostOf(asked)} failed${why}`, {
    ...call.details(),
    code,
    cause: safeCause(thrown, redactor),
  });
}

/** Where to look for what is wrong: the host with its port. */
function hostOf({ baseUrl, redactor }: Asked): string {
  return redactor.clean(new URL(baseUrl).host);
}

/** A connection that was made can break with the same code as one that never was; the system call tells them apart. */
function isBeforeRequest(code: string, chain: readonly unknown[]): boolean {
  if (isCertificateCode(code) || NO_TLS.test(code)) return true;
  return NEVER_CONNECTED.test(code) && !chain.some((error) => /^(?:read|write)/.test(textOf(error, 'syscall') ?? ''));
}

/** The error of an attempt that took longer than its time limit. */
export function timeLimitFailure(call: Call, asked: Asked): TimeoutError {
  const limit = `its \`attemptTimeoutMs\` of ${call.options.attemptTimeoutMs} ms`;
  return new TimeoutError(
    `Cannot ${call.purpose}: attempt ${call.attempts} had no complete answer from ${hostOf(asked)} within ${limit}`,
    call.details(),
  );
}
