const PREFIX = 'proxy_';
/** The next connection may succeed: the proxy timed out or is overloaded (RFC 9110 section 15.5.9; RFC 6585 section 4). */
const PASSING = /^(?:408|425|429|5\d\d)$/;

/** The code of a connection that a proxy refused with a status. */
export function proxyCode(status: number): string {
  return `${PREFIX}${status}`;
}

/** Whether this code means that a proxy refused to make the connection: nothing was sent to the service. */
export function isProxyCode(code: string): boolean {
  return code.startsWith(PREFIX);
}

/** Whether a proxy refused for a reason that no further attempt changes: it wants a password, or does not allow the host. */
export function isFinalProxyCode(code: string): boolean {
  return isProxyCode(code) && !PASSING.test(code.slice(PREFIX.length));
}
