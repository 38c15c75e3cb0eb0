/**
 * Whether timers and promises belong to the incoming request that made them: in workerd they end with it, also for everybody else who
 * waits for them, and a request that has none of its own is ended as hung.
 */
export function isRequestBound(): boolean {
  return globalThis.navigator?.userAgent === 'Cloudflare-Workers';
}
