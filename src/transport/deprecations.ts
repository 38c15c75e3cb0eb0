import type { Call } from '../call.ts';
import { readDeprecation } from '../contract/deprecation.ts';
import type { Redactor } from '../redactor.ts';

/** Most announcements of one client, since the paths of a `fetch` have no bound. */
const MOST_ANNOUNCED = 64;

/** What was asked, and what the answer says. */
interface Exchanged {
  method: string;
  /** Below the service's address, without its query. */
  path: string;
  /** The service's address. */
  baseUrl: string;
  headers: Headers;
}

/** Announces what the service says of the end of its endpoints: each operation once. */
export class Deprecations {
  readonly #announced = new Set<string>();

  /** Looks at an answer. */
  announce(call: Call, { method, path, baseUrl, headers }: Exchanged, redactor: Redactor): void {
    if (this.#announced.size >= MOST_ANNOUNCED) return;
    const endpoint = call.operation === 'fetch' ? `${method} ${path.replace(/[^/]*\d[^/]*/g, '*')}` : call.operation;
    if (this.#announced.has(endpoint)) return;
    const found = readDeprecation(headers, { nowMs: Date.now(), address: `${baseUrl}/${path}` });
    if (!found) return;
    this.#announced.add(endpoint);
    const link = found.link === undefined ? {} : { link: redactor.clean(found.link) };
    call.emit('deprecation', (event) => ({ ...event, method, path: `/${path}`, ...found, ...link }));
  }
}
