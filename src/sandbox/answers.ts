import type { ErrorBody } from '../contract/models.ts';
import type { SandboxRequest } from './ledger.ts';

/** The sandbox's own error codes, since the specification does not list the service's. */
type ErrorCode =
  | 'missing_key'
  | 'invalid_key'
  | 'key_banned'
  | 'bad_request'
  | 'invalid_body'
  | 'invalid_pet_id'
  | 'pet_missing'
  | 'not_found'
  | 'method_not_allowed'
  | 'body_too_large'
  | 'rate_limited'
  | 'not_shown'
  | 'domain_not_served'
  | 'internal'
  | 'fault';

interface Refusal {
  status: number;
  code: ErrorCode;
  message: string;
}

/** The statuses without content (RFC 9110); the constructor of Response rejects a body with them. */
const BODILESS = new Set([204, 205, 304]);

/** An answer whose body is this JSON text; without a body, if the text is empty. */
export function jsonAnswer(status: number, text: string): Response {
  return new Response(text === '' || BODILESS.has(status) ? null : text, { status, headers: { 'content-type': 'application/json' } });
}

/** An answer with an Error body (specification, Error). */
export function errorAnswer({ status, code, message }: Refusal): Response {
  const body: ErrorBody = { code, message, status };
  return jsonAnswer(status, JSON.stringify(body));
}

/** Refuses a request, and records the code. A 401 says how to authenticate (RFC 9110 section 15.5.2). */
export function refuse(request: SandboxRequest, refusal: Refusal): Response {
  request.code = refusal.code;
  const answer = errorAnswer(refusal);
  if (refusal.status === 401) answer.headers.set('www-authenticate', 'Bearer');
  return answer;
}
