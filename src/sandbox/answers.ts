import type { ErrorBody } from '../contract/models.ts';
import type { SandboxRequest } from './ledger.ts';

/** The statuses without content (RFC 9110); the constructor of Response rejects a body with them. */
const BODILESS = new Set([204, 205, 304]);

/** An answer whose body is this JSON text; without a body, if the text is empty. */
export function jsonAnswer(status: number, text: string): Response {
  return new Response(text === '' || BODILESS.has(status) ? null : text, { status, headers: { 'content-type': 'application/json' } });
}

/** An answer with an Error body (specification, Error). The codes are the sandbox's own, since the specification does not list the service's. */
export function errorAnswer({ code, message, status }: ErrorBody): Response {
  return jsonAnswer(status, JSON.stringify({ code, message, status }));
}

/** Refuses a request, and records the code. A 401 says how to authenticate (RFC 9110 section 15.5.2). */
export function refuse(request: SandboxRequest, error: ErrorBody): Response {
  request.code = error.code;
  const answer = errorAnswer(error);
  if (error.status === 401) answer.headers.set('www-authenticate', 'Bearer');
  return answer;
}
