import type { Call } from '../call.ts';
import { isPetStatus } from '../contract/pet-status.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';

/** Most statuses that are announced for one call, so that a service with a new status for each item does not flood the listeners. */
const MOST_ANNOUNCED = 32;

/** Announces each status of an answer that the specification does not name, once, in a form that is safe for a log. */
export class UnknownStatuses {
  readonly #call: Call;
  readonly #answer: OpenAnswer;
  #announced: Set<string> | undefined;

  constructor(call: Call, answer: OpenAnswer) {
    this.#call = call;
    this.#answer = answer;
  }

  /** Checks items, if there is a listener. */
  announce(items: Iterable<{ status: string }>): void {
    if (!this.#call.hasListener('unknownStatus')) return;
    this.#announced ??= new Set();
    const announced = this.#announced;
    for (const { status } of items) {
      if (announced.size >= MOST_ANNOUNCED) return;
      if (isPetStatus(status) || announced.has(status)) continue;
      announced.add(status);
      this.#call.emit('unknownStatus', (event) => ({ ...event, status: this.#answer.clean(status) }));
    }
  }
}
