import { isExempt, PROXY_RULE, parseProxy, readProxyVariables } from '../options/proxy.ts';
import { badOption } from '../options/rules.ts';

/** A forward proxy, and the setting that named it. */
export interface ForwardProxy {
  /** The address with user and password. It must never be shown. */
  url: URL;
  /** `HTTPS_PROXY`, or `proxy` for the option. */
  setting: string;
}

/** The proxy for each protocol of the service's address. */
export interface Proxies {
  https: ForwardProxy | undefined;
  http: ForwardProxy | undefined;
  /** The hosts without a proxy, as in `NO_PROXY`; empty if the option `proxy` is given. */
  none: string;
}

/**
 * The proxies of the option, or else of the environment variables.
 * @throws ConfigurationError that names the option or the variable, and shows no password
 */
export function resolveProxies(proxy: string | URL | false | undefined): Proxies {
  if (proxy === false) return { https: undefined, http: undefined, none: '' };
  if (proxy !== undefined) {
    const given = { url: checkProxy('proxy', proxy), setting: '`proxy`' };
    return { https: given, http: given, none: '' };
  }
  const { http, https, none } = readProxyVariables();
  const forward = (named: typeof http) => named && { url: checkProxy(named.name, named.value), setting: named.name };
  return { https: forward(https), http: forward(http), none };
}

/** The proxy of a request; undefined if it goes to the service directly. */
export function proxyOf(url: URL, { https, http, none }: Proxies): ForwardProxy | undefined {
  if (isExempt(url, none)) return undefined;
  return url.protocol === 'https:' ? https : http;
}

function checkProxy(setting: string, value: unknown): URL {
  const text = String(value);
  // Only a variable may contain host and port alone.
  const url = setting === 'proxy' && !text.includes('://') ? undefined : parseProxy(text);
  if (url) return url;
  throw badOption(setting, PROXY_RULE, undefined);
}
