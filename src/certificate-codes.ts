/** OpenSSL's names for certificate errors, as Node and Bun report them. They are detected before a request is sent. */
const REFUSED_HERE =
  /^(?:CERT_\w+|(?!ERR_SSL_)\w+_CERT(?:_\w+)?|(?:\w+_)?CRL_\w+|UNABLE_TO_\w+|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/;

/** Whether a connection failed with this code because the service's certificate was refused. */
export function isCertificateCode(code: string): boolean {
  return REFUSED_HERE.test(code);
}

const NOT_TRUSTED =
  'this machine does not trust the authority that signed its certificate; if it is your own, start Node with NODE_EXTRA_CA_CERTS=/path/to/its-certificate.pem';

/** The meanings of codes of Node, Bun or OpenSSL that do not explain themselves. */
const MEANINGS: readonly [RegExp, string][] = [
  [/^(?:UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT\w*|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT\w*)$/, NOT_TRUSTED],
  [/^CERT_HAS_EXPIRED$/, "its certificate has expired, or this machine's clock is wrong"],
  [/^CERT_NOT_YET_VALID$/, "its certificate is not valid yet, or this machine's clock is wrong"],
  [/^(?:ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/, 'its certificate is for another name'],
  [/^ERR_SSL_WRONG_VERSION_NUMBER$/, 'the server there does not speak TLS'],
];

/** What a code means, in words; undefined if the code explains itself. */
export function meaningOf(code: string): string | undefined {
  return MEANINGS.find(([codes]) => codes.test(code))?.[1];
}
