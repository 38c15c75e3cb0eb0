import { readVariable } from './environment.ts';

/** The proxy that the variables name for an address. */
export interface NamedProxy {
  /** The variable that names it. */
  variable: string;
  /** Its address, with the credentials that it may have. */
  url: string;
  /** The same without them, for messages. */
  shown: string;
}

/** A variable that names a proxy. */
interface ProxyVariable {
  name: string;
  value: string;
}

/** The proxy for each protocol of the service's address, and the hosts that are reached without one. */
export interface Proxies<Proxy> {
  http: Proxy | undefined;
  https: Proxy | undefined;
  /** As in `NO_PROXY`. */
  none: string;
}

type ReadVariable = (name: string) => string | undefined;

/**
 * Reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` by the rules of undici's EnvHttpProxyAgent, which Node uses too: lower case wins over
 * upper case, and https uses the proxy of http if it has none of its own.
 */
export function readProxyVariables(read: ReadVariable = readVariable): Proxies<ProxyVariable> {
  const first = (...names: string[]): ProxyVariable | undefined =>
    names.map((name) => ({ name, value: read(name) ?? '' })).find(({ value }) => value !== '');
  const http = first('http_proxy', 'HTTP_PROXY');
  return { http, https: first('https_proxy', 'HTTPS_PROXY') ?? http, none: read('no_proxy') ?? read('NO_PROXY') ?? '' };
}

/** The proxy that the variables name for an address; undefined if the address is reached directly. */
export function proxyFor(address: string | URL, read: ReadVariable = readVariable): NamedProxy | undefined {
  const url = new URL(address);
  const proxy = proxyOf(url, readProxyVariables(read));
  if (!proxy) return undefined;
  const { name, value } = proxy;
  const named = parseProxy(value);
  return { variable: name, url: value, shown: named ? showProxy(named) : showBadProxy(value) };
}

/** The proxy of an address; undefined if it is reached directly. */
export function proxyOf<Proxy>(url: URL, { http, https, none }: Proxies<Proxy>): Proxy | undefined {
  if (isExempt(url, none)) return undefined;
  return url.protocol === 'https:' ? https : http;
}

/** What a variable or an option that names a proxy must be, for messages. */
export const PROXY_RULE =
  'the address of an http or https proxy, such as http://proxy.example:3128, with / in the password as %2F, and % as %25';

const SCHEME = /^\w[\w+.-]*:\/\//;

/** The address that a variable names, which may be host and port alone; undefined if it is no address of a proxy. */
export function parseProxy(value: string): URL | undefined {
  const url = URL.parse(SCHEME.test(value) ? value : `http://${value}`);
  return url && !isMisread(value) && /^https?:$/.test(url.protocol) && isDecodable(url) ? url : undefined;
}

/** Scheme, host and port of a value that names no proxy, for messages; `***` if they may be a part of its credentials. */
export function showBadProxy(value: string): string {
  const url = URL.parse(value);
  return url?.host && !isMisread(value) ? showProxy(url) : '***';
}

/** Scheme, host and port of a proxy, for messages, and whether it has credentials. */
export function showProxy({ protocol, username, password, host }: URL): string {
  return `${protocol}//${username + password && '***@'}${host}`;
}

/** Whether an @ comes after the host: a slash or the like in the password is not escaped, so that the user was read as the host. */
function isMisread(value: string): boolean {
  return /[/\\?#].*@/s.test(value.replace(SCHEME, ''));
}

/** The value of Proxy-Authorization for the user, and perhaps the password, in a proxy's address; undefined if it has no user. */
export function proxyAuthorization({ username, password }: URL): string | undefined {
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return username === '' ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`;
}

function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

declare const process: { execArgv: string[] };

/** Whether Node was started with the setting that makes its fetch use the proxies of the variables. */
export function fetchUsesProxies(): boolean {
  const flags = [...process.execArgv, readVariable('NODE_OPTIONS') ?? ''].join(' ');
  return readVariable('NODE_USE_ENV_PROXY') === '1' || /--use-env-proxy(?:\s|$)/.test(flags);
}

/** The host of an address as sockets take it: an IPv6 address without brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** The port of an address: that of its protocol, if it names none. */
export function portOf({ port, protocol }: URL): number {
  return Number(port || (protocol === 'https:' ? 443 : 80));
}

/** An entry of NO_PROXY: `[host]`, a host without colons, or an IPv6 address, and perhaps a port. */
const ENTRY = /^(?:\[(.+)\]|([^:]+)|(.+))(?::(\d+))?$/;

/**
 * Whether NO_PROXY names the host: `*`, a domain such as `example.com` or `.example.com` with all below it, or `*.example.com` for those
 * below it alone, each with or without a port. An IPv6 address with a port has brackets.
 */
function isExempt(url: URL, noProxy: string): boolean {
  const asked = String(portOf(url));
  const host = hostOf(url).replace(/\.$/, '');
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      const [, bracketed, plain, bare, ofPort = asked] = ENTRY.exec(entry) ?? [];
      const named = bracketed ?? plain ?? bare ?? '';
      if (named === '' || ofPort !== asked) return false;
      const domain = named.replace(/^\*?\.|\.$/g, '');
      return named === '*' || host.endsWith(`.${domain}`) || (host === domain && !named.startsWith('*'));
    });
}
