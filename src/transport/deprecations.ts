import type { Call } from '../call.ts';
import { readDeprecation } from '../contract/deprecation.ts';
import type { Redactor } from '../redactor.ts';
import type { HeaderFields } from './direct-answer.ts';

/** The most announcements by one client, since the number of paths that `fetch` may request is unlimited. */
const MOST_ANNOUNCED = 64;

/** A request and the headers of its answer. */
interface Exchanged {
  method: string;
  /** Below the service's address, without its query. */
  path: string;
  /** The service's address. */
  baseUrl: string;
  headers: HeaderFields;
}

/** Announces that the service has deprecated an endpoint or is going to stop it: once for each operation. */
export class Deprecations {
  readonly #announced = new Set<string>();

  /** Announces what the headers of an answer say, if it is news. */
  announce(call: Call, { method, path, baseUrl, headers }: Exchanged, redactor: Redactor): void {
    if (this.#announced.size >= MOST_ANNOUNCED) return;
    const endpoint = call.operation === 'fetch' ? `${method} ${path.replace(/[^/]*\d[^/]*/g, '*')}` : call.operation;
    if (this.#announced.has(endpoint)) return;
    // Hidden first, since a part of the key may look like the end of a link.
    const headerOf = (name: string) => redactor.hide(headers.get(name) ?? '');
    const found = readDeprecation(headerOf, { nowMs: Date.now(), address: `${baseUrl}${path}` });
    if (!found) return;
    this.#announced.add(endpoint);
    const link = found.link === undefined ? {} : { link: redactor.clean(found.link) };
    call.emit('deprecation', (event) => ({ ...event, method, path, ...found, ...link }));
  }
}
