import type { SecureContext } from 'node:tls';
import { PROXY_RULE, type Proxies, parseProxy, readProxyVariables, showBadProxy } from '../options/proxy.ts';
import { badOption, booleanOption, numberOption, refuseUnknown } from '../options/rules.ts';
import { type Certificates, secureContextOf } from './certificates.ts';

/**
 * The options of `undiciFetch`.
 *
 * @example
 * const options: UndiciFetchOptions = { proxy: 'http://proxy.example:3128', connections: 16 };
 * const client = new PetStoreClient({ apiKey, baseUrl, fetch: undiciFetch(options) });
 */
export interface UndiciFetchOptions extends Certificates {
  /**
   * The http or https address of a forward proxy, with user and password if it needs them (`http://user:password@proxy.example:3128`);
   * false for no proxy, even if the environment variables name one.
   * @default the variables `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, also in lower case
   */
  proxy?: string | URL | false | undefined;
  /**
   * Most connections to the service at once, an integer of at least 1; HTTP/2 shares one among its requests.
   * @default as many as there are requests in flight
   */
  connections?: number | undefined;
  /**
   * Milliseconds for which an idle connection is kept, at least 1. It should be less than in the load balancer in front of the service.
   * @default 4000
   */
  keepAliveTimeoutMs?: number | undefined;
  /**
   * The time limit for a new connection in milliseconds, at least 1, including TLS; behind a proxy, also for its answer to CONNECT.
   * @default 10000
   */
  connectTimeoutMs?: number | undefined;
  /**
   * Whether to use HTTP/2 if the service offers it.
   * @default undici's own: true in version 8, false in version 7
   */
  allowH2?: boolean | undefined;
}

const OPTION_NAMES = [
  'proxy',
  'ca',
  'cert',
  'key',
  'passphrase',
  'connections',
  'keepAliveTimeoutMs',
  'connectTimeoutMs',
  'allowH2',
] as const satisfies readonly (keyof UndiciFetchOptions)[];

/** A forward proxy, and the setting that named it. */
export interface ForwardProxy {
  /** The address with user and password. It must never be shown. */
  url: URL;
  /** `HTTPS_PROXY`, or `proxy` for the option. */
  setting: string;
}

/** The checked options, with undici's names. */
export interface Route {
  proxies: Proxies<ForwardProxy>;
  agent: {
    connections?: number;
    keepAliveTimeout?: number;
    allowH2?: boolean;
    connectTimeout?: number;
  };
  secureContext: SecureContext | undefined;
}

/** @throws ConfigurationError that names the option, the rule and the value */
export function resolveRoute(options: UndiciFetchOptions): Route {
  if (typeof options !== 'object' || options === null)
    throw badOption('undiciFetch', 'a dispatcher of undici, or options such as { proxy }');
  refuseUnknown(options, OPTION_NAMES);
  const connections = numberOption('connections', options.connections, undefined, { min: 1, integer: true });
  const keepAliveTimeout = numberOption('keepAliveTimeoutMs', options.keepAliveTimeoutMs, undefined, { min: 1 });
  const connectTimeout = numberOption('connectTimeoutMs', options.connectTimeoutMs, undefined, { min: 1 });
  const allowH2 = options.allowH2 === undefined ? undefined : booleanOption('allowH2', options.allowH2, true);
  return {
    proxies: resolveProxies(options.proxy),
    agent: {
      ...(connections !== undefined && { connections }),
      ...(keepAliveTimeout !== undefined && { keepAliveTimeout }),
      ...(connectTimeout !== undefined && { connectTimeout }),
      ...(allowH2 !== undefined && { allowH2 }),
    },
    secureContext: secureContextOf(options),
  };
}

/** The proxies of the option, or else of the environment variables. */
function resolveProxies(proxy: string | URL | false | undefined): Proxies<ForwardProxy> {
  if (proxy === false) return { https: undefined, http: undefined, none: '' };
  if (proxy !== undefined) {
    const given = { url: checkProxy('proxy', proxy), setting: '`proxy`' };
    return { https: given, http: given, none: '' };
  }
  const { http, https, none } = readProxyVariables();
  const forward = (named: typeof http) => named && { url: checkProxy(named.name, named.value), setting: named.name };
  return { https: forward(https), http: forward(http), none };
}

function checkProxy(setting: string, value: unknown): URL {
  const text = String(value);
  // Only a variable may contain host and port alone.
  const url = setting === 'proxy' && !text.includes('://') ? undefined : parseProxy(text);
  if (!url) throw badOption(setting, PROXY_RULE, { shown: showBadProxy(text) });
  return url;
}
