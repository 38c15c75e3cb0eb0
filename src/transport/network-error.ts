import hasKnownText from 'is-network-error';
import { isError, messageOf, textOf } from '../thrown.ts';
import { causesOf, innermostCode } from './safe-cause.ts';

const BODY_FAILURE = 'BodyFailure';

/** The failure of a stream that the caller gave as the body of a request. Its own error may have the code of a broken connection. */
export class BodyFailure extends Error {
  override readonly name = BODY_FAILURE;

  constructor(thrown: unknown) {
    super(`the body of the request failed: ${messageOf(thrown)}`);
  }
}

/** The error classes of the language for mistakes in a program. */
const MISTAKES = /^(?:Eval|Range|Reference|Syntax|Type|URI)Error$/;
/** Node's codes for wrong arguments; its codes for TLS mean a network error. */
const MISTAKE_CODE = /^ERR_(?!TLS|SSL)/;

/**
 * Whether a fetch rejected because of the network, and not because of a mistake in the caller's own code around it. No standard tells
 * these apart (a network error is a TypeError: fetch standard, fetch method), so the rule follows what implementations do: those of Node,
 * Deno and browsers reject with a TypeError that is-network-error knows by its text, Bun's with a TypeError that has the system's code,
 * and those of workerd, Electron and most libraries with an Error of another name.
 */
export function isNetworkError(thrown: unknown): boolean {
  const chain = causesOf(thrown);
  if (chain.some((error) => textOf(error, 'name') === BODY_FAILURE)) return false;
  if (!isMistake(thrown)) return isError(thrown);
  if (hasKnownText(thrown)) return true;
  const code = innermostCode(chain);
  return code !== undefined && !MISTAKE_CODE.test(code);
}

/** The same for a failed body: the stream is the runtime's own, and in Deno and workerd it fails with a TypeError without a code. */
export function isBodyNetworkError(thrown: unknown): boolean {
  return isNetworkError(thrown) || textOf(thrown, 'name') === 'TypeError';
}

function isMistake(thrown: unknown): boolean {
  return MISTAKES.test(textOf(thrown, 'name') ?? '');
}
