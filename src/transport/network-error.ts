import hasKnownText from 'is-network-error';
import { isError, textOf } from '../thrown.ts';
import { innermostCode } from './safe-cause.ts';

/** The errors that the language has for mistakes of a program. */
const MISTAKES = /^(?:Eval|Range|Reference|Syntax|Type|URI)Error$/;
/** Codes of Node for wrong arguments; those of TLS tell of the network. */
const MISTAKE_CODE = /^ERR_(?!TLS|SSL)/;

/**
 * Whether what a fetch rejects with tells of the network, and not of a mistake in the caller's own code around it. No standard tells
 * them apart (a network error is a TypeError: fetch standard, fetch method), so it goes by what fetches are seen to do: those of Node,
 * Deno and browsers reject with a TypeError that is-network-error knows by its text, Bun's with a TypeError that has the system's code,
 * those of workerd, Electron and most libraries with an Error of another name.
 */
export function isNetworkError(thrown: unknown): boolean {
  if (!isMistake(thrown)) return isError(thrown);
  if (hasKnownText(thrown)) return true;
  const code = innermostCode(thrown);
  return code !== undefined && !MISTAKE_CODE.test(code);
}

/** The same for what ends a body: the stream is the runtime's own, and Deno and workerd break it with a TypeError without a code. */
export function isBodyNetworkError(thrown: unknown): boolean {
  return isNetworkError(thrown) || textOf(thrown, 'name') === 'TypeError';
}

function isMistake(thrown: unknown): boolean {
  return MISTAKES.test(textOf(thrown, 'name') ?? '');
}
