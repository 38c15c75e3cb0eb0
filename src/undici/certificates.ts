import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import tls, { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { ConfigurationError } from '../errors.ts';
import { badOption, showValue } from '../options/rules.ts';
import { messageOf, showThrown, textOf } from '../thrown.ts';

/** The certificates and keys of TLS connections. */
export interface Certificates {
  /**
   * A certificate authority to trust in addition to Node's: PEM text, or the path of a PEM file.
   * @default none; Node itself reads the file of `NODE_EXTRA_CA_CERTS`
   */
  ca?: string | Uint8Array | undefined;
  /**
   * The client certificate (mutual TLS), with its intermediate certificates: PEM text, or the path of a PEM file. It needs `key`.
   * @default none
   */
  cert?: string | Uint8Array | undefined;
  /**
   * The private key of `cert`: PEM text, or the path of a PEM file. It needs `cert`.
   * @default none
   */
  key?: string | Uint8Array | undefined;
  /**
   * The passphrase of an encrypted `key`. It needs `key`.
   * @default none
   */
  passphrase?: string | undefined;
}

/**
 * Makes the TLS context. It is made only once, since reading the authorities takes longer than a handshake.
 * @throws ConfigurationError that names the option, never the private key
 */
export function secureContextOf({ ca, cert, key, passphrase }: Certificates): SecureContext | undefined {
  if ((cert ?? passphrase) !== undefined && key === undefined)
    throw badOption('key', 'the private key of `cert` and `passphrase`, which need it');
  if (key !== undefined && cert === undefined) throw badOption('cert', 'the certificate of `key`: the service asks for both');
  if (ca === undefined && cert === undefined) return undefined;
  const own = cert === undefined ? {} : { cert: certificateOption('cert', cert), key: pemOption('key', key) };
  const authorities = ca === undefined ? {} : { ca: [...knownAuthorities(), ...certificatesOf(certificateOption('ca', ca))] };
  try {
    return createSecureContext({ ...authorities, ...own, ...(passphrase !== undefined && { passphrase }) });
  } catch (thrown) {
    const why = messageOf(thrown);
    const message = `Cannot use this value as \`key\`: it must be the private key of \`cert\`, with its \`passphrase\` if it is encrypted (${why})`;
    throw new ConfigurationError(message, { option: 'key' });
  }
}

/** The authorities that Node trusts, with those of NODE_EXTRA_CA_CERTS from Node 22.15 on. */
function knownAuthorities(): readonly string[] {
  const { getCACertificates }: Partial<typeof tls> = tls;
  return getCACertificates?.('default') ?? rootCertificates;
}

function certificateOption(option: 'ca' | 'cert', value: unknown): string {
  const pem = pemOption(option, value);
  try {
    for (const certificate of certificatesOf(pem)) new X509Certificate(certificate);
    if (certificatesOf(pem).length > 0) return pem;
  } catch {}
  throw badOption(option, `a certificate in PEM text, or the path of a file with one; there is none in ${shown(value)}`);
}

function certificatesOf(pem: string): string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
}

/** Returns PEM text, or the text of the file at a path. */
function pemOption(option: keyof Certificates, value: unknown): string {
  const text = value instanceof Uint8Array ? new TextDecoder().decode(value) : value;
  if (typeof text !== 'string' || text === '') throw badOption(option, 'PEM text, or the path of a PEM file');
  return text.includes('-----BEGIN') || value instanceof Uint8Array ? text : readPem(option, text);
}

function readPem(option: keyof Certificates, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    const why = textOf(thrown, 'code') ?? showThrown(thrown);
    throw badOption(option, `PEM text, or the path of a PEM file that can be read (${why})`, { shown: path });
  }
}

/** Shows a path, but no PEM text, which may be a private key given in the wrong place. */
function shown(value: unknown): string {
  return typeof value === 'string' && !value.includes('-----BEGIN') ? showValue(value) : 'this text';
}
