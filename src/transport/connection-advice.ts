import { textOf } from '../thrown.ts';

/** The status with which a proxy refuses to connect, as undici tells it (RFC 9110 section 9.3.6). */
const REFUSED_BY_PROXY = /^Proxy response \((\d{3})\) !== 200/;

const NOT_TRUSTED =
  'this machine does not trust who signed its certificate; is that an authority of your own, start Node with NODE_EXTRA_CA_CERTS=/path/to/its-certificate.pem';

/** What a code of Node, Bun or OpenSSL means, where the code alone does not tell it. */
const MEANINGS: readonly [RegExp, string][] = [
  [/^(?:UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT\w*|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT\w*)$/, NOT_TRUSTED],
  [/^CERT_HAS_EXPIRED$/, "its certificate has expired, or this machine's clock is wrong"],
  [/^CERT_NOT_YET_VALID$/, "its certificate is not valid yet, or this machine's clock is wrong"],
  [/^(?:ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/, 'its certificate is that of another name'],
  [/^ERR_SSL_WRONG_VERSION_NUMBER$/, 'what answers there speaks no TLS'],
];

/** The status with which a proxy refused to connect to the service; undefined where none did. */
export function proxyRefusal(chain: readonly unknown[]): number | undefined {
  const statuses = chain.map((error) => REFUSED_BY_PROXY.exec(textOf(error, 'message') ?? '')?.[1]);
  const status = statuses.find((found) => found !== undefined);
  return status === undefined ? undefined : Number(status);
}

/** What a code means, in words; undefined where the code says it. */
export function meaningOf(code: string): string | undefined {
  return MEANINGS.find(([codes]) => codes.test(code))?.[1];
}

/** What a proxy's refusal means (RFC 9110 sections 15.5.4 and 15.5.8). */
export function describeRefusal(status: number): string {
  const why = status === 407 ? ': it wants a user and a password' : status === 403 ? ': it does not allow this host' : '';
  return `a proxy in between refused it with ${status}${why}`;
}
