import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { ConfigurationError } from '../errors.ts';
import { badOption, showValue } from '../options/rules.ts';
import { messageOf, showThrown, textOf } from '../thrown.ts';

/** What TLS is made with. */
export interface Certificates {
  /**
   * A certificate authority of your own, beside those that Node knows: PEM text, or the path of a PEM file.
   * @default none; Node itself reads the file of `NODE_EXTRA_CA_CERTS`
   */
  ca?: string | Uint8Array | undefined;
  /**
   * The certificate by which this client shows who it is (mutual TLS), with those between it and its authority: PEM text, or the path of a
   * PEM file.
   * @default none
   */
  cert?: string | Uint8Array | undefined;
  /**
   * The private key of `cert`: PEM text, or the path of a PEM file.
   * @default none
   */
  key?: string | Uint8Array | undefined;
  /**
   * What `key` is encrypted with.
   * @default none
   */
  passphrase?: string | undefined;
}

/**
 * Made once: reading the authorities takes longer than a handshake.
 * @throws ConfigurationError that names the option, never the private key
 */
export function secureContextOf({ ca, cert, key, passphrase }: Certificates): SecureContext | undefined {
  if (cert !== undefined && key === undefined) throw badOption('key', 'the private key of `cert`, which cannot be used without it');
  if (key !== undefined && cert === undefined) throw badOption('cert', 'the certificate of `key`: the service asks for both');
  if (ca === undefined && cert === undefined) return undefined;
  const own = cert === undefined ? {} : { cert: certificateOption('cert', cert), key: pemOption('key', key) };
  const authorities = ca === undefined ? {} : { ca: [...rootCertificates, ...certificatesOf(certificateOption('ca', ca))] };
  try {
    return createSecureContext({ ...authorities, ...own, ...(passphrase !== undefined && { passphrase }) });
  } catch (thrown) {
    const why = messageOf(thrown);
    const message = `Cannot use this value as \`key\`: it must be the private key of \`cert\`, with its \`passphrase\` if it is encrypted (${why})`;
    throw new ConfigurationError(message, { option: 'key' });
  }
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

/** PEM text, or that of the file whose path it is. */
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

/** A path may be shown, a text not: it may be a private key that was given in the wrong place. */
function shown(value: unknown): string {
  return typeof value === 'string' && !value.includes('-----BEGIN') ? showValue(value) : 'this text';
}
