import type { Call } from '../../call.ts';
import type { ClientEvents } from '../../events.ts';
import type { Redactor } from '../../redactor.ts';
import { showThrown, textOf } from '../../thrown.ts';

type Notice = Pick<ClientEvents['quotaStore'], 'state' | 'reason'>;

/** Reports once that the store failed, and once that it is back: as a warning at once, as an event with the next request. */
export class StoreNotices {
  readonly #warn: (message: string) => void;
  readonly #redactor: Redactor;
  #hasFailed = false;
  #pending: Notice | undefined;

  /** @param redactor hides the key, which a store may quote */
  constructor(warn: (message: string) => void, redactor: Redactor) {
    this.#warn = warn;
    this.#redactor = redactor;
  }

  fail(failure: unknown): void {
    if (this.#hasFailed) return;
    const reason = this.#redactor.clean(textOf(failure, 'message') ?? showThrown(failure));
    this.#hasFailed = true;
    this.#pending = { state: 'local', reason };
    this.#warn(`the quota store cannot be used, so this process keeps to its part of the quota until it can: ${reason}`);
  }

  recover(): void {
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    this.#pending = { state: 'shared' };
  }

  report(call: Call): void {
    const notice = this.#pending;
    if (!notice) return;
    this.#pending = undefined;
    call.tell('quotaStore', (event) => ({ ...event, ...notice }));
  }
}
