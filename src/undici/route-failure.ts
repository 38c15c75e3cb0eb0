import { isCertificateCode } from '../certificate-codes.ts';
import { type Proxies, portOf, proxyOf, showProxy } from '../options/proxy.ts';
import { errorsOf, fieldOf, messageOf, textOf } from '../thrown.ts';
import { proxyRefusal } from '../transport/proxy-refusal.ts';
import type { ForwardProxy } from './fetch-options.ts';

/** A request that failed. */
interface Attempt {
  url: URL;
  proxies: Proxies<ForwardProxy> | undefined;
  /** How often the request was handed to a connection, so that it may have been sent. */
  starts: number;
  /** Whether the answer had begun. */
  hasAnswered: boolean;
}

/** Why a request got no answer: the option or variable to check, and whether it was certainly not processed. */
class RouteFailure extends Error {
  readonly setting: string | undefined;
  readonly isUnsent: boolean;

  constructor(cause: unknown, { setting, isUnsent }: Pick<RouteFailure, 'setting' | 'isUnsent'>) {
    super(textOf(cause, 'message') ?? 'the request failed', { cause });
    this.setting = setting;
    this.isUnsent = isUnsent;
  }
}

/** Why a proxy opened no tunnel. */
class TunnelFailure extends Error {}

/** Codes of a certificate that no `ca` can mend. */
const OTHER_NAME = 'ERR_TLS_CERT_ALTNAME_INVALID';

/**
 * Marks what a CONNECT failed with, except for a certificate that `ca` can mend. Without the mark, undici 7 would take a connection
 * that the proxy closed for one of the service, and open the next one at once, without end.
 */
export function throwTunnelFailure(cause: unknown): never {
  const code = textOf(cause, 'code') ?? '';
  throw isCertificateCode(code) && code !== OTHER_NAME ? cause : new TunnelFailure(messageOf(cause), { cause });
}

/** The error with which fetch rejects if no answer comes (fetch standard, network error). */
export function routeFailure(thrown: unknown, attempt: Attempt): TypeError {
  const cause = new RouteFailure(thrown, { setting: settingOf(thrown, attempt), isUnsent: isUnsent(thrown, attempt) });
  return new TypeError('fetch failed', { cause });
}

function settingOf(thrown: unknown, { url, proxies }: Attempt): string | undefined {
  const proxy = proxies && proxyOf(url, proxies);
  const codes = allOf(thrown).map((error) => textOf(error, 'code') ?? '');
  if (proxy && isOfProxy(thrown, proxy.url)) return `${proxy.setting}, which says ${showProxy(proxy.url)}`;
  if (codes.some(isCertificateCode)) return '`ca` of undiciFetch, or NODE_EXTRA_CA_CERTS';
  if (codes.some((code) => /^ERR_SSL_\w*_CERTIFICATE/.test(code))) return '`cert` and `key` of undiciFetch';
  return undefined;
}

/** Whether the proxy refused, or cannot be reached. A system error contains the host or port. */
function isOfProxy(thrown: unknown, proxy: URL): boolean {
  if (thrown instanceof TunnelFailure || proxyRefusal([thrown]) !== undefined) return true;
  return allOf(thrown).some((error) => fieldOf(error, 'port') === portOf(proxy) || fieldOf(error, 'hostname') === proxy.hostname);
}

/** An error, its cause, and those of an AggregateError. */
function allOf(thrown: unknown): readonly unknown[] {
  return [thrown, fieldOf(thrown, 'cause'), ...errorsOf(thrown)];
}

const REFUSED_STREAM = 7;

/** With HTTP/2, a stream was not processed if it was refused, or if it comes after a GOAWAY (RFC 9113 sections 6.8 and 8.7). */
function isUnsent(thrown: unknown, { starts, hasAnswered }: Attempt): boolean {
  if (hasAnswered) return false;
  if (starts === 0) return true;
  const message = textOf(thrown, 'message') ?? '';
  const code = textOf(thrown, 'code') ?? '';
  // undici 8 itself sends such a stream again, once, and gives these errors only if that is refused too (the second is for a GOAWAY without
  // a reason). A third start may mean that a dispatcher has sent the request again for another reason.
  if (fieldOf(thrown, 'http2ErrorCode') === REFUSED_STREAM || (code === 'UND_ERR_INFO' && message.startsWith('HTTP/2: "GOAWAY"')))
    return starts <= 2;
  // Nothing is known of earlier starts.
  if (starts > 1) return false;
  if (proxyRefusal([thrown]) !== undefined) return true;
  // With a missing or wrong client certificate, the other side ends the handshake before it reads a request.
  return /NGHTTP2_REFUSED_STREAM|"stream error" received - code 7\b/.test(message) || /^ERR_SSL_\w*_CERTIFICATE/.test(code);
}
