/** OpenSSL's names for what is wrong with a certificate, as Node and Bun give them: found out here, before a request left. */
const REFUSED_HERE =
  /^(?:CERT_\w+|(?!ERR_SSL_)\w+_CERT(?:_\w+)?|(?:\w+_)?CRL_\w+|UNABLE_TO_\w+|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/;

/** Whether a connection failed with this code because the service's certificate was refused. */
export function isCertificateCode(code: string): boolean {
  return REFUSED_HERE.test(code);
}
