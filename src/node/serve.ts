import { createServer, type Server, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import * as z from 'zod/mini';
import { VERSION_SEGMENT } from '../contract/http.ts';
import { errorAnswer } from '../sandbox/answers.ts';
import type { OptionRules } from '../sandbox/check-options.ts';
import { BASE_PATHS } from '../sandbox/environments.ts';
import { checkSandboxOptions, type SandboxOptions } from '../sandbox/options.ts';
import { createPage } from '../sandbox/page/page.ts';
import { assembleSandbox, type Sandbox, type SandboxParts } from '../sandbox/sandbox.ts';
import { SandboxError } from '../sandbox/sandbox-error.ts';
import { textOf } from '../thrown.ts';
import { CORS_RULE, corsSchema, listOrigins, shareAnswer } from './serve-cors.ts';
import { carryOverSocket } from './serve-socket.ts';
import { openStock } from './serve-stock.ts';

/** Where a sandbox is served, and where its stock is kept. */
interface ServeOptions {
  /** The port to listen on; 0 takes a free one. @default 0 */
  port?: number | undefined;
  /** The address to listen on. Any address but a loopback address opens the sandbox to the network. @default '127.0.0.1' */
  hostname?: string | undefined;
  /**
   * The path of a file that keeps the stock of production (SQLite, ids in ascending order); created if it is missing. `pets` fills a new file,
   * and a reset refills it; otherwise a file keeps its pets. The stock of staging is in memory.
   * @default memory
   */
  db?: string | undefined;
  /**
   * The origins whose pages may call the service's addresses, such as `http://localhost:5173`: an answer has `Access-Control-Allow-Origin` and
   * exposes all its headers, and preflights cost no quota. Not the page and the API description. The specification does not show what the
   * service allows.
   * @default none
   */
  cors?: string | readonly string[] | undefined;
}

/**
 * The options of a sandbox and of its server; all are optional.
 *
 * @example
 * const options: ServeSandboxOptions = { port: 0, pets: 100, latency: 20 };
 * await using served = await serveSandbox(options);
 */
export interface ServeSandboxOptions<Plans extends string = string> extends SandboxOptions<Plans>, ServeOptions {}

/**
 * A sandbox on a port.
 *
 * @example
 * const served: ServedSandbox = await serveSandbox();
 * const client = new PetStoreClient({ apiKey: served.keys.pro, baseUrl: served.url });
 * await client.updateInventory(1, { quantity: 12 });
 * console.log(served.sandbox.inventory.get(1)?.quantity); // → 12
 * await served.close();
 */
export interface ServedSandbox<Plans extends string = never> extends AsyncDisposable {
  /** The address of production, ending in /v1: give it to a client as `baseUrl`. */
  readonly url: string;
  /** The address of staging. */
  readonly stagingUrl: string;
  /** The address of the page that shows the requests, for a browser. */
  readonly pageUrl: string;
  /** One key for every plan. */
  readonly keys: Sandbox<Plans>['keys'];
  /** The sandbox behind the port: its inventory, requests, clock, faults, report. */
  readonly sandbox: Sandbox<Plans>;
  /** Ends all connections, frees the port and closes the file. */
  close(): Promise<void>;
}

/** A server on every address reports 0.0.0.0 or ::, to which no client can connect. */
const REACHABLE_AT: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

const SERVE_RULES: OptionRules<ServeOptions> = {
  port: [z.int().check(z.gte(0), z.lte(65_535)), 'it must be a number of at most 65535, or 0 for a free port'],
  hostname: [z.string().check(z.minLength(1)), 'it must be a host name or an IP address'],
  db: [z.string().check(z.minLength(1)), 'it must be the path of a file'],
  cors: [corsSchema, CORS_RULE],
};

/**
 * Serves a sandbox over HTTP, with a page at `/` that shows the requests, and the API description at `/openapi.json`.
 *
 * @throws {SandboxError} for an invalid option, a port in use, or a file that is in use or belongs to another program.
 * @example
 * const served = await serveSandbox({ pets: 3 });
 * console.log(served.url, served.keys.free);
 * await served.close();
 */
export function serveSandbox<Plans extends string = never>(options?: ServeSandboxOptions<Plans>): Promise<ServedSandbox<Plans>>;
export async function serveSandbox(options: ServeSandboxOptions = {}): Promise<ServedSandbox<string>> {
  checkSandboxOptions(options, SERVE_RULES);
  const { port = 0, hostname = '127.0.0.1', db, cors, ...rest } = options;
  const origins = listOrigins(cors);
  const stock = db === undefined ? undefined : openStock(db);
  try {
    const parts = assembleSandbox(rest, stock);
    const server = createListener(parts, { hostname, origins });
    const origin = await listen(server, { port, hostname });
    return describeServed(parts, { server, origin, closeStock: () => stock?.close() });
  } catch (error) {
    stock?.close();
    throw error;
  }
}

interface Running {
  readonly server: Server;
  readonly origin: string;
  readonly closeStock: () => void;
}

function describeServed({ sandbox }: SandboxParts, { server, origin, closeStock }: Running): ServedSandbox<string> {
  const url = `${origin}${BASE_PATHS.production}`;
  const stagingUrl = `${origin}${BASE_PATHS.staging}`;
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= new Promise((resolve) => {
      server.close(() => {
        closeStock();
        resolve();
      });
      server.closeAllConnections();
    });
    return closing;
  };
  return { url, stagingUrl, pageUrl: `${origin}/`, keys: sandbox.keys, sandbox, close, [Symbol.asyncDispose]: close };
}

/** Which hosts, and pages of which origins, may call the service. */
interface Access {
  readonly hostname: string;
  readonly origins: readonly string[];
}

function createListener(parts: SandboxParts, access: Access): Server {
  const listener = getRequestListener(createHandler(parts, access), {
    // HTTP/1.0 knows no Host header.
    hostname: 'localhost',
    // Otherwise the adapter replaces the global Request and Response of the whole process.
    overrideGlobalObjects: false,
    errorHandler: (error) =>
      error instanceof SandboxError
        ? errorAnswer({ status: 500, code: 'internal', message: error.message })
        : errorAnswer({ status: 400, code: 'bad_request', message: 'The request is not valid HTTP' }),
  });
  return createServer(listener);
}

function createHandler(parts: SandboxParts, { hostname, origins }: Access): Parameters<typeof getRequestListener>[0] {
  const page = createPage(parts);
  return async (request, { incoming, outgoing }) => {
    // A client that takes the sandbox for a proxy gives the whole address, whose host counts (RFC 9112 section 3.2.2).
    const whole = URL.parse(incoming.url ?? '/');
    const isService = isForService(whole?.pathname ?? incoming.url ?? '/');
    const isShared = isService && origins.length > 0;
    const preflight = isShared && shareAnswer({ incoming, outgoing }, origins);
    if (preflight) return preflight;
    if (!isServed(whole?.host ?? incoming.headers.host ?? 'localhost', { parts, hostname })) return domainNotServed();
    if (!isService) return page.fetch(request);
    const exchange = await parts.service(request);
    // A `Vary` of the answer replaces the one that is set for it.
    if (isShared) exchange.response.headers.append('vary', 'Origin');
    // Node would add a `Date` where the sandbox leaves it out.
    outgoing.sendDate = false;
    return outgoing instanceof ServerResponse ? carryOverSocket(exchange, outgoing) : exchange.response;
  };
}

function isForService(path: string): boolean {
  return path.startsWith(`/${VERSION_SEGMENT}`) || path.startsWith('/staging/');
}

/** Refuses other public host names: one that resolves to this server may be an attack that reads the keys (DNS rebinding). */
function isServed(host: string, { parts, hostname }: { parts: SandboxParts; hostname: string }): boolean {
  const name = host.replace(/\.?(?::\d+)?$/, '').toLowerCase();
  if (!name.includes('.') || name === hostname.toLowerCase() || name.endsWith('.localhost')) return true;
  return isIP(name) !== 0 || parts.sandbox.domains.has(name);
}

function domainNotServed(): Response {
  return errorAnswer({ status: 421, code: 'domain_not_served', message: 'No such domain is served here: add it to `domains`' });
}

function listen(server: Server, { port, hostname }: { port: number; hostname: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(cannotListen(error, `${hostname}:${port}`)));
    server.listen(port, hostname, () => {
      const address = server.address();
      const bound = typeof address === 'object' && address !== null ? address.port : port;
      const reachable = REACHABLE_AT.get(hostname) ?? hostname;
      resolve(`http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${bound}`);
    });
  });
}

function cannotListen(error: Error, place: string): SandboxError {
  const why = textOf(error, 'code') === 'EADDRINUSE' ? 'the port is in use; use another port, or 0 for a free one' : error.message;
  return new SandboxError(`Cannot serve the sandbox at ${place}: ${why}`, { cause: error });
}
