import type { Call } from '../call.ts';
import { isPetStatus } from '../contract/models.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';

/** So many are announced for one call at most: a service that makes up one for every item would flood whoever listens. */
const MOST_ANNOUNCED = 32;

/** Announces the statuses of an answer that the specification does not name: each once, fit for a log. */
export class UnknownStatuses {
  readonly #call: Call;
  readonly #answer: OpenAnswer;
  readonly #announced = new Set<string>();

  constructor(call: Call, answer: OpenAnswer) {
    this.#call = call;
    this.#answer = answer;
  }

  /** Looks through items, where anybody would hear of them. */
  announce(items: Iterable<{ status: string }>): void {
    if (!this.#call.isHeard('unknownStatus')) return;
    for (const { status } of items) {
      if (this.#announced.size >= MOST_ANNOUNCED) return;
      if (!isPetStatus(status) && !this.#announced.has(status)) this.#tell(status);
    }
  }

  #tell(status: string): void {
    this.#announced.add(status);
    this.#call.tell('unknownStatus', (event) => ({ ...event, status: this.#answer.clean(status) }));
  }
}
