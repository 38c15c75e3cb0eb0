import { textOf } from '../thrown.ts';

/** The status with which a proxy refuses a CONNECT (RFC 9110 section 9.3.6) or, without one, a request, as undici's messages report it. */
const REFUSED_BY_PROXY = /^Proxy (?:response|Authentication Required) \((\d{3})\)/;

/** The status with which a proxy refused to lead to the service; undefined if none did. */
export function proxyRefusal(chain: readonly unknown[]): number | undefined {
  const statuses = chain.map((error) => REFUSED_BY_PROXY.exec(textOf(error, 'message') ?? '')?.[1]);
  const status = statuses.find((found) => found !== undefined);
  return status === undefined ? undefined : Number(status);
}

/** What a proxy's refusal means (RFC 9110 sections 15.5.4 and 15.5.8). */
export function describeRefusal(status: number): string {
  const why = status === 407 ? ': it wants a user and a password' : status === 403 ? ': it does not allow this host' : '';
  return `a proxy in between refused it with ${status}${why}`;
}
