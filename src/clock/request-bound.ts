/**
 * Whether timers and promises belong to the incoming request that made them. In workerd they end with that request, even if other requests
 * wait for them, and a request that waits without a promise or timer of its own is cancelled as hung.
 */
export function isRequestBound(): boolean {
  return globalThis.navigator?.userAgent === 'Cloudflare-Workers';
}
