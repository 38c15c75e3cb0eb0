import { SandboxError, show } from './sandbox-error.ts';

/**
 * A redirect from one domain to another (specification, What the service does, step 6).
 *
 * @example
 * const moved: DomainRedirect = { from: 'old.example', to: 'stock.example', status: 308 };
 * const { keys, fetch } = createSandbox({ domains: ['stock.example', moved] });
 * const client = new PetStoreClient({ apiKey: keys.pro, baseUrl: 'https://old.example/v1', fetch });
 * const error = await client.listInventory().catch((thrown) => thrown);
 * console.log(error.status, error.location); // → 308 https://stock.example/v1/inventory
 */
export interface DomainRedirect {
  /** The domain that redirects. */
  from: string;
  /** A domain, or an http(s) address, whose path is put before that of the request. */
  to: string;
  /** 301, 302, 303, 307 or 308. @default 301 */
  status?: number | undefined;
}

/** The statuses with which a service redirects (Fetch standard, redirect status). */
export const REDIRECT_STATUSES = [301, 302, 303, 307, 308];

/**
 * The custom domains of the sandbox. There may be several. The sandbox stops serving a removed one at once.
 *
 * DNS records, verification and certificates are not simulated: a domain is served as soon as it is added.
 *
 * @example
 * const { domains, keys, fetch } = createSandbox({ domains: ['stock.example'] });
 * const client = new PetStoreClient({ apiKey: keys.pro, baseUrl: 'https://stock.example/v1', fetch });
 * console.log((await client.listInventory()).length); // → 12
 * console.log(domains.remove('stock.example'), domains.list()); // → true []
 */
export class Domains {
  readonly #served = new Map<string, { to: string; status: number } | undefined>();

  constructor(entries: readonly (string | DomainRedirect)[]) {
    for (const entry of entries) this.add(entry);
  }

  /**
   * Adds a domain, or a redirect from a domain.
   * @throws {SandboxError} for an invalid host name or address, or a status that is not a redirect.
   */
  add(entry: string | DomainRedirect): void {
    const { from, ...redirect } = typeof entry === 'string' ? { from: entry } : entry;
    const domain = checkDomain(from);
    if (!('to' in redirect)) {
      this.#served.set(domain, undefined);
      return;
    }
    const { to, status = 301 } = redirect;
    if (!REDIRECT_STATUSES.includes(status)) {
      throw new SandboxError(`Cannot redirect ${show(from)} with ${status}: the status must be one of ${REDIRECT_STATUSES.join(', ')}`);
    }
    this.#served.set(domain, { to: to.includes('://') ? checkAddress(to) : checkDomain(to), status });
  }

  /** Stops serving a domain at once; returns whether it was served. */
  remove(domain: string): boolean {
    return this.#served.delete(domain.toLowerCase());
  }

  /** All domains, redirects included. */
  list(): string[] {
    return [...this.#served.keys()];
  }

  /** Returns whether a host is served. */
  has(hostname: string): boolean {
    return this.#served.has(hostname.toLowerCase());
  }

  /**
   * The redirect for a request to this absolute address, if its domain redirects.
   * @throws TypeError for an address that is not absolute, unless there are no domains
   */
  redirectOf(address: string): { location: string; status: number } | undefined {
    if (this.#served.size === 0) return undefined;
    const { hostname, port, protocol, pathname, search } = new URL(address);
    const redirect = this.#served.get(hostname);
    if (redirect === undefined) return undefined;
    const { to, status } = redirect;
    const base = to.includes('://') ? to : `${protocol}//${to}${port && `:${port}`}`;
    return { location: `${base}${pathname}${search}`, status };
  }
}

function checkDomain(domain: string): string {
  if (/^[a-z0-9-]+(\.[a-z0-9-]+)*$/i.test(domain)) return domain.toLowerCase();
  throw new SandboxError(`Cannot serve the domain ${show(domain)}: it must be a host name such as "stock.example.com"`);
}

/** An address to which the path and query of a request can be added. */
function checkAddress(address: string): string {
  const url = URL.parse(address);
  if (url && /^https?:$/.test(url.protocol) && !/[?#]/.test(address)) return url.href.replace(/\/+$/, '');
  throw new SandboxError(
    `Cannot redirect to ${show(address)}: it must be a host name such as "stock.example.com", or an http(s) address without a query`,
  );
}
