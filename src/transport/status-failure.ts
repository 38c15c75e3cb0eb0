import type { Call } from '../call.ts';
import { isServiceFailure } from '../contract/http.ts';
import type { Answer } from '../contract/limits.ts';
import {
  AuthenticationError,
  BadRequestError,
  type FailureDetails,
  NotFoundError,
  type PetStoreError,
  RateLimitError,
  ServerError,
  UnexpectedStatusError,
} from '../errors.ts';
import type { Redactor } from '../redactor.ts';
import { type ErrorText, readErrorText } from './error-text.ts';
import { publicRateLimit } from './public-rate-limit.ts';

/** What is known about an answer outside 2xx. */
export interface FailedAnswer {
  answer: Answer;
  /** The part of its body that could be read. */
  bodyText: string;
  location: string | null;
  /** The address of the request, to which a location may be relative. */
  address: string;
  /** When the gate opens again, if this answer closed it; epoch milliseconds on the local clock. */
  reopensAtMs: number | undefined;
}

/** The error of an answer outside 2xx: the status decides its class, the Error body its code and message (specification, Errors). */
export function statusFailure(failed: FailedAnswer, call: Call, redactor: Redactor): PetStoreError {
  const { answer } = failed;
  const text = readErrorText(failed.bodyText, redactor);
  if (!isServiceFailure(answer.status)) call.refused('service');
  const details: FailureDetails = {
    ...call.details(),
    status: answer.status,
    code: text.code ?? `http_${answer.status}`,
    retryAt: retryAt(failed),
    retryAfterMs: answer.retryAfterMs,
    rateLimit: publicRateLimit(answer),
    bodyText: text.bodyText,
  };
  const said = sentence(text, { status: answer.status, address: redactor.clean(failed.address) });
  const message = `Cannot ${call.purpose}: ${said}${hintAt(answer.status, text, call)}`;
  return classify(withInstant(message, details), details, failed, redactor);
}

function classify(message: string, details: FailureDetails, failed: FailedAnswer, redactor: Redactor): PetStoreError {
  const { status } = failed.answer;
  if (status === 400) return new BadRequestError(message, details);
  if (status === 401) return new AuthenticationError(message, details);
  if (status === 404) return new NotFoundError(message, details);
  if (status === 429) return new RateLimitError(message, details);
  if (status >= 500) return new ServerError(message, details);
  const location = readLocation(failed, redactor);
  const redirect = location === undefined ? message : `${message}; the redirect to ${location} is not followed`;
  return new UnexpectedStatusError(redirect, { ...details, location });
}

function sentence({ code, message }: ErrorText, { status, address }: { status: number; address: string }): string {
  // Browsers hide a redirect's status (fetch standard, opaque-redirect filtered response).
  const answered = status === 0 ? 'the service answered with a redirect' : `the service answered ${status}`;
  if (code === undefined && message === undefined) return `${answered} without an Error body at ${address}`;
  return [code === undefined ? answered : `${answered} ${code}`, message].filter((part) => part !== undefined).join(': ');
}

/** Advice that the status alone does not give. */
function hintAt(status: number, { code, message }: ErrorText, { operation }: Call): string {
  const isList = operation === 'listInventory' || operation === 'streamInventory';
  if (status === 404 && isList) return '; check the address: the list exists even if there are no pets';
  if (status === 407) return '; a proxy in between wants a user and a password';
  // The service's specification names no 403.
  if (status === 403 && code === undefined && message === undefined) return '; a proxy or firewall in between may have answered';
  return '';
}

/** Only a 429 or 503 closes the key for every call. */
function withInstant(message: string, { status, retryAt }: FailureDetails): string {
  if (retryAt === undefined) return message;
  const rule = status === 429 || status === 503 ? 'nothing may be sent' : 'wait';
  return `${message} (${rule} until ${retryAt.toISOString()})`;
}

function retryAt({ answer, reopensAtMs }: FailedAnswer): Date | undefined {
  const asked = answer.retryAfterMs === undefined ? undefined : answer.receivedAtMs + answer.retryAfterMs;
  const instant = Math.max(asked ?? 0, reopensAtMs ?? 0);
  return instant === 0 ? undefined : new Date(instant);
}

/** Where a redirect points, without what may be secret in it. The key is hidden first, since a part of it may look like a query. */
function readLocation({ location, address }: FailedAnswer, redactor: Redactor): string | undefined {
  const url = location === null ? null : URL.parse(redactor.hide(location), address);
  return url ? redactor.clean(`${url.protocol}//${url.host}${url.pathname}`) : undefined;
}
