import { type EventEmitter, once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import { meaningOf } from '../../certificate-codes.ts';
import { DAY_MS } from '../../contract/plans.ts';
import { readVariable } from '../../options/environment.ts';
import { hostOf } from '../../options/proxy.ts';
import { withoutControls } from '../../redactor.ts';
import { textOf } from '../../thrown.ts';
import { type Finding, GUIDES } from './finding.ts';
import { PATIENCE_MS } from './patience.ts';

/** Certificates are usually renewed before they have so few days left. */
const SOON_DAYS = 14;

/** The code for a server that does not speak TLS. */
export const NO_TLS = 'ERR_SSL_WRONG_VERSION_NUMBER';

/** Makes a TLS handshake over a socket and checks the certificate. Sends nothing else. */
export async function checkTls(socket: Duplex, address: URL): Promise<Finding> {
  const host = hostOf(address);
  const servername = isIP(host) ? '' : host;
  const secure = connect({ socket, host, servername, ALPNProtocols: ['h2', 'http/1.1'], rejectUnauthorized: false });
  try {
    const closed = once(secure, 'close').then(() => Promise.reject('ECONNRESET'));
    await Promise.race([happens(secure, 'secureConnect'), closed]);
    return judge(secure);
  } catch (error) {
    const code = codeOf(error);
    const meaning = meaningOf(code);
    const message = `the TLS handshake failed: ${code}${meaning ? `: ${meaning}` : ''}`;
    return { check: 'tls', outcome: 'problem', message, ...adviceWithoutHandshake(code), facts: { code } };
  } finally {
    secure.destroy();
  }
}

function adviceWithoutHandshake(code: string): Pick<Finding, 'advice' | 'see'> {
  if (code === 'ETIMEDOUT') return { advice: 'check firewalls, VPNs and the MTU', see: GUIDES.connection };
  if (code === NO_TLS) return { advice: checkScheme('https:'), see: GUIDES.connection };
  if (/PROTOCOL_VERSION$|UNSUPPORTED_PROTOCOL$/.test(code)) return { advice: 'let the server take TLS 1.2 or 1.3', see: GUIDES.connection };
  const advice = 'the certificate may not be issued yet: wait, or re-verify the domain; else check the port';
  return { advice, see: GUIDES.certificate };
}

/** The advice for an address at which a server listens, but does not speak its protocol. */
export function checkScheme(protocol: string): string {
  const other = protocol === 'https:' ? 'http:' : 'https:';
  return `check the port of the address, and whether the server there uses ${other} rather than ${protocol}`;
}

/** Waits for an event, but no longer than a step may take. Later errors are ignored. @throws its error, or the code of a timeout */
export async function happens(source: EventEmitter, event: string): ReturnType<typeof once> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  source.on('error', () => {});
  try {
    return await once(source, event, { signal: patience });
  } catch (error) {
    throw patience.aborted ? 'ETIMEDOUT' : error;
  }
}

function judge(secure: TLSSocket): Finding {
  const certificate = secure.getPeerCertificate();
  const facts = factsOf(secure, certificate);
  const who = `${facts.protocol}, certificate of ${facts.subject}, issued by ${facts.issuer}`;
  const error: unknown = secure.authorizationError;
  if (error) return refuse(codeOf(error), who, { ...facts, code: codeOf(error) });
  const left = `${who}, ${facts.daysLeft} days left; ${facts.http}`;
  if (facts.daysLeft >= SOON_DAYS) return { check: 'tls', outcome: 'ok', message: left, facts };
  return { check: 'tls', outcome: 'note', message: left, advice: 'make sure that it is renewed in time', see: GUIDES.certificate, facts };
}

function factsOf(secure: TLSSocket, { issuer, subject, valid_to }: PeerCertificate) {
  const expiresAt = new Date(valid_to);
  return {
    protocol: secure.getProtocol() ?? 'TLS',
    issuer: nameOf(issuer),
    subject: nameOf(subject),
    expiresAt,
    daysLeft: Math.floor((expiresAt.getTime() - Date.now()) / DAY_MS),
    http: secure.alpnProtocol === 'h2' ? 'HTTP/2' : 'HTTP/1.1',
  };
}

function nameOf({ CN, O }: PeerCertificate['issuer']): string {
  return withoutControls(String(CN ?? O ?? 'an unnamed party'));
}

function refuse(code: string, who: string, facts: Record<string, unknown>): Finding {
  const message = `${who}: ${code}: ${meaningOf(code) ?? 'it is not trusted'}`;
  return { check: 'tls', outcome: 'problem', message, advice: adviceFor(code), see: GUIDES.certificate, facts };
}

function adviceFor(code: string): string {
  const extra = readVariable('NODE_EXTRA_CA_CERTS');
  if (code === 'CERT_HAS_EXPIRED') return 'renew the certificate, or set the clock of this machine';
  if (code === 'CERT_NOT_YET_VALID') return 'set the clock of this machine';
  if (/ALTNAME|HOSTNAME/.test(code)) return 'check the address; the certificate of a new domain may not be issued yet';
  if (extra === undefined) return 'if the issuer is your own authority, set NODE_EXTRA_CA_CERTS to its certificate before Node starts';
  const fault = isReadable(extra) ? 'does not hold the certificate of this issuer' : 'cannot be read';
  return `NODE_EXTRA_CA_CERTS names ${extra}, which ${fault}`;
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** The code of an error, or what was given: Node's `authorizationError` may be the code itself. */
export function codeOf(error: unknown): string {
  return textOf(error, 'code') ?? String(error);
}
