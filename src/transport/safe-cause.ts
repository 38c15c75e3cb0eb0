import type { Redactor } from '../redactor.ts';

const DEEPEST_CAUSE = 8;

/** An error and its causes, outermost first. */
export function causesOf(thrown: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let cause = thrown; cause !== undefined && cause !== null && chain.length < DEEPEST_CAUSE; cause = causeOf(cause)) chain.push(cause);
  return chain;
}

function causeOf(error: unknown): unknown {
  if (error instanceof AggregateError) return error.cause ?? error.errors[0];
  return error instanceof Error ? error.cause : undefined;
}

export function codeOf(error: unknown): string | undefined {
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' && code !== '' ? code : undefined;
}

/** Libraries hang requests, headers and quoted keys onto their errors: what is kept is name, message, code and stack, redacted. */
export function safeCause(thrown: unknown, redactor: Redactor): Error | undefined {
  return causesOf(thrown).reduceRight<Error | undefined>((cause, error) => {
    const copy = new Error(redactor.clean(error instanceof Error ? error.message : String(error)), cause && { cause });
    const stack = error instanceof Error ? error.stack : undefined;
    const code = codeOf(error);
    copy.name = error instanceof Error ? redactor.clean(error.name, 100) : 'Error';
    if (stack !== undefined) copy.stack = redactor.hide(stack);
    return code === undefined ? copy : Object.assign(copy, { code: redactor.clean(code, 100) });
  }, undefined);
}
