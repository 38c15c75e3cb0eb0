import { lookup } from 'node:dns/promises';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { hostOf, type NamedProxy, PROXY_RULE, parseProxy, portOf, proxyAuthorization } from '../../options/proxy.ts';
import { errorsOf } from '../../thrown.ts';
import { type Finding, GUIDES } from './finding.ts';
import { checkTls, codeOf, happens, NO_TLS } from './tls.ts';

/** Checks each step of the connection to an address, until one fails. Neither HTTP nor the key is sent to the service. */
export async function checkWay(address: URL, proxy: NamedProxy | undefined): Promise<Finding[]> {
  const first = proxy ? parseProxy(proxy.url) : address;
  if (!first) return [noProxy(proxy)];
  const name = await checkName(first, proxy);
  if (name.outcome === 'problem') return [name];
  const { finding, socket } = await (proxy ? openTunnel(address, { ...proxy, address: first }) : openSocket(address));
  if (!socket) return [name, finding];
  try {
    return address.protocol === 'https:' ? [name, finding, behind(proxy, await checkTls(socket, address))] : [name, finding];
  } finally {
    socket.destroy();
  }
}

/** The finding of a handshake through a proxy, which may have answered in place of the service. */
function behind(proxy: NamedProxy | undefined, tls: Finding): Finding {
  if (!proxy || tls.facts?.code !== NO_TLS) return tls;
  const advice = `check ${proxy.variable}: what it names may have answered in place of the service; else ${tls.advice}`;
  return { ...tls, advice, see: GUIDES.proxy };
}

async function checkName(url: URL, proxy: NamedProxy | undefined): Promise<Finding> {
  const host = hostOf(url);
  if (isIP(host)) return { check: 'dns', outcome: 'ok', message: `${host} is an IP address` };
  try {
    const addresses = (await lookup(host, { all: true })).map(({ address }) => address);
    return { check: 'dns', outcome: 'ok', message: `${host} is ${addresses.join(', ')}`, facts: { addresses } };
  } catch (error) {
    const code = codeOf(error);
    const problem = { check: 'dns', outcome: 'problem', message: `${host} has no address: ${code}`, facts: { code } } as const;
    // No DNS server answered, or none could: nothing is known of the record.
    if (code === 'EAI_AGAIN')
      return { ...problem, advice: 'check the network of this machine, and its DNS servers', see: GUIDES.connection };
    if (proxy) return { ...problem, advice: `check ${proxy.variable}`, see: GUIDES.proxy };
    return { ...problem, advice: 'check the spelling of the address and its DNS record', see: GUIDES.noRecord };
  }
}

interface Opened {
  finding: Finding;
  socket?: Duplex;
}

async function openSocket(url: URL): Promise<Opened> {
  const startedAtMs = performance.now();
  const socket = connect({ host: hostOf(url), port: portOf(url) });
  try {
    await happens(socket, 'connect');
    const ms = Math.round(performance.now() - startedAtMs);
    // The other side may have reset the connection by now.
    const message = `connected to ${socket.remoteAddress ?? hostOf(url)}:${portOf(url)} in ${ms} ms`;
    return { socket, finding: { check: 'connection', outcome: 'ok', message, facts: { ms } } };
  } catch (error) {
    socket.destroy();
    return { finding: noConnection(url.host, error) };
  }
}

/** The codes of an answer that is no HTTP, or no TLS. */
const ANOTHER_PROTOCOL = new RegExp(`^(?:HPE_\\w+|EPROTO|${NO_TLS})$`);

/** Asks a proxy for a tunnel to the service (RFC 9110 section 9.3.6). */
async function openTunnel(address: URL, { address: proxy, shown, variable }: NamedProxy & { address: URL }): Promise<Opened> {
  const target = `${address.hostname}:${portOf(address)}`;
  const authorization = proxyAuthorization(proxy);
  const headers = { host: target, ...(authorization && { 'proxy-authorization': authorization }) };
  const open = proxy.protocol === 'https:' ? requestHttps : requestHttp;
  const host = hostOf(proxy);
  // Node would take the name for TLS from the header Host, which names the service.
  const servername = isIP(host) ? '' : host;
  // Without Node's global agent, which may be set to use the proxy, so that the proxy would have to lead to itself.
  const request = open({ host, port: portOf(proxy), method: 'CONNECT', path: target, headers, servername, agent: false }).end();
  try {
    const [{ statusCode }, socket, head] = await happens(request, 'connect');
    if (statusCode >= 200 && statusCode < 300) {
      // What came right after the proxy's answer is from the service.
      socket.unshift(head);
      return { socket, finding: { check: 'connection', outcome: 'ok', message: `the proxy ${shown} leads to ${target}` } };
    }
    socket.destroy();
    return { finding: refusedByProxy(statusCode, { shown, variable, target }) };
  } catch (error) {
    request.destroy();
    const advice = ANOTHER_PROTOCOL.test(codeOf(error))
      ? `check the scheme and the port in ${variable}: what listens there speaks another protocol`
      : `check ${variable}, and whether the proxy runs`;
    return { finding: { ...noConnection(`the proxy ${shown}`, error), advice, see: GUIDES.proxy } };
  }
}

function noProxy(proxy: NamedProxy | undefined): Finding {
  const message = `${proxy?.variable} names no proxy`;
  return { check: 'connection', outcome: 'problem', message, advice: `it must be ${PROXY_RULE}`, see: GUIDES.proxy };
}

/** The answers of a server that does not know CONNECT. */
const WITHOUT_CONNECT: readonly number[] = [400, 404, 405, 501];

function refusedByProxy(status: number, { shown, variable, target }: { shown: string; variable: string; target: string }): Finding {
  const advice =
    {
      407: `check the user and the password: ${variable}=http://user:password@…`,
      403: `let its administrators allow ${target}, or name the host in NO_PROXY`,
    }[status] ?? (WITHOUT_CONNECT.includes(status) ? `check ${variable}: what listens there may be no proxy` : 'try again later');
  const message = `the proxy ${shown} refused to connect to ${target}: ${status}`;
  return { check: 'connection', outcome: 'problem', message, advice, see: GUIDES.proxy, facts: { proxyStatus: status } };
}

function noConnection(host: string, error: unknown): Finding {
  const code = codeOf(error);
  const message = `the connection to ${host} failed: ${code}`;
  return { check: 'connection', outcome: 'problem', message, advice: adviceFor(error), see: GUIDES.connection, facts: { code } };
}

/** Node tries the addresses of a host one after the other, and gives up each but the last early, even if a slow network would connect. */
function adviceFor(error: unknown): string {
  return errorsOf(error).some((each) => codeOf(each) === 'ETIMEDOUT')
    ? 'on a slow network, start Node with --network-family-autoselection-attempt-timeout=2000'
    : 'check the port of the address, whether the service runs, and firewalls';
}
