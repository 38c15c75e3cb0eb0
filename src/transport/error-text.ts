import { parseJson } from '../json/parse-json.ts';
import type { Redactor } from '../redactor.ts';
import { textOf } from '../thrown.ts';

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
  const body = parseJson(text);
  const read = (field: string) => redactor.clean(textOf(body, field) ?? '') || undefined;
  const [code, message] = [read('code'), read('message')];
  const isErrorBody = code !== undefined || message !== undefined;
  return isErrorBody || text === '' ? { code, message } : { bodyText: redactor.clean(text, SHOWN_BODY) };
}
