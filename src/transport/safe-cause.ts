import type { TextHider } from '../redactor.ts';
import { errorsOf, fieldOf, isError, messageOf, setStack, showThrown, textOf } from '../thrown.ts';

const DEEPEST_CAUSE = 8;
const SHOWN_NAME = 100;

/** An error and its causes, outermost first. */
export function causesOf(thrown: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let cause = thrown; cause !== undefined && cause !== null && chain.length < DEEPEST_CAUSE; cause = causeOf(cause)) chain.push(cause);
  return chain;
}

function causeOf(error: unknown): unknown {
  return isError(error) ? (fieldOf(error, 'cause') ?? errorsOf(error)[0]) : undefined;
}

/** The code of the innermost cause that has one, which says what went wrong first. */
export function innermostCode(chain: readonly unknown[]): string | undefined {
  return chain.map((error) => textOf(error, 'code')).findLast((code) => code);
}

/** Copies an error with its causes: only name, message, code and stack, redacted, since libraries attach requests, headers and keys. */
export function safeCause(thrown: unknown, redactor: TextHider): Error | undefined {
  return causesOf(thrown).reduceRight<Error | undefined>((cause, error) => copyOf(error, { cause, redactor }), undefined);
}

function copyOf(error: unknown, { cause, redactor }: { cause: Error | undefined; redactor: TextHider }): Error {
  const known = isError(error) ? error : undefined;
  // Node's AggregateError has no message of its own.
  const message = known ? (textOf(known, 'message') ?? errorsOf(known).map(messageOf).join('; ')) : showThrown(error);
  const copy = new Error(redactor.clean(message), cause && { cause });
  copy.name = redactor.clean(textOf(known, 'name') ?? 'Error', SHOWN_NAME);
  const stack = textOf(known, 'stack');
  if (stack !== undefined)
    setStack(copy, [`${copy.name}: ${copy.message}`, ...framesOf(stack).map((frame) => redactor.hide(frame))].join('\n'));
  const code = textOf(error, 'code');
  return code === undefined ? copy : Object.assign(copy, { code: redactor.clean(code, SHOWN_NAME) });
}

/** `    at send (app.js:1:2)` in V8. */
const PLACE = /^\s+at \P{Cc}+$/u;
/** `send@app.js:1:2` in Firefox and Safari, whose stacks do not repeat the message. Safari writes only the address of a nameless function. */
const PLACE_WITHOUT_AT = /^(?:[^@:\p{Cc}]*@|(?=\w+:\/\/))(?:\[native code\]|\P{Cc}+:\d+:\d+)$/u;

/** The lines of a stack that name places in the code. The lines before them repeat the message, neither cut nor redacted. */
function framesOf(stack: string): string[] {
  const lines = stack.split('\n');
  const places = lines.filter((line) => PLACE.test(line));
  return places.length > 0 ? places : lines.filter((line) => PLACE_WITHOUT_AT.test(line));
}
