import { showAddress } from './base-url.ts';
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

const VARIABLES = {
  'http:': ['http_proxy', 'HTTP_PROXY'],
  // Without one of its own https takes that of http, as undici does.
  'https:': ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'],
} as const;

/**
 * The proxy that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name for an address, by the rules of undici's EnvHttpProxyAgent, which Node
 * uses too: lower case wins over upper case. Undefined where the address is asked directly.
 */
export function proxyFor(address: string | URL, read: (name: string) => string | undefined = readVariable): NamedProxy | undefined {
  const url = new URL(address);
  const names = url.protocol === 'http:' || url.protocol === 'https:' ? VARIABLES[url.protocol] : [];
  const variable = names.find((name) => read(name));
  const proxy = variable && read(variable);
  if (!variable || !proxy || isExempt(url, read('no_proxy') ?? read('NO_PROXY') ?? '')) return undefined;
  return { variable, url: proxy, shown: showAddress(proxy).replaceAll('"', '') };
}

/** Whether NO_PROXY names the host: `*`, the host itself, or a domain above it as `.example.com` or `*.example.com`, each with or without a port. */
function isExempt({ protocol, hostname, port }: URL, noProxy: string): boolean {
  const asked = port || (protocol === 'https:' ? '443' : '80');
  return noProxy.split(/[\s,]+/).some((entry) => {
    const [, host = '', ofPort = asked] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    if (host === '*') return true;
    if (host === '' || ofPort !== asked) return false;
    return /^[.*]/.test(host) ? hostname.endsWith(host.replace(/^\*/, '')) : hostname === host;
  });
}
