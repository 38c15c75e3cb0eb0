import type { Redactor } from '../redactor.ts';

const SHOWN_BODY = 1024;

/** What the body of a failure says, cleaned. */
export interface ErrorText {
  code?: string | undefined;
  message?: string | undefined;
  /** The beginning of a body that is not an Error body. */
  bodyText?: string;
}

/** Reads an Error body field by field; what is missing or of another type is left out (specification, Error). */
export function readErrorText(text: string, redactor: Redactor): ErrorText {
  const body = parseObject(text);
  const code = readText(body, 'code', redactor);
  const message = readText(body, 'message', redactor);
  const isErrorBody = code !== undefined || message !== undefined;
  return isErrorBody || text === '' ? { code, message } : { bodyText: redactor.clean(text, SHOWN_BODY) };
}

function parseObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function readText(body: object, field: string, redactor: Redactor): string | undefined {
  const value: unknown = Object.hasOwn(body, field) ? Reflect.get(body, field) : undefined;
  const text = typeof value === 'string' ? redactor.clean(value) : '';
  return text === '' ? undefined : text;
}
