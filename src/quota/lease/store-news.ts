import type { Call } from '../../call.ts';
import type { ClientEvents } from '../../events.ts';
import { showThrown, textOf } from '../../thrown.ts';

type News = Pick<ClientEvents['quotaStore'], 'state' | 'reason'>;

/** Tells once that the store failed, and once that it is back: as a warning at once, as an event with the next request. */
export class StoreNews {
  readonly #warn: (message: string) => void;
  readonly #clean: (text: string) => string;
  #hasFailed = false;
  #news: News | undefined;

  /** @param clean hides the key, which a store may quote */
  constructor(warn: (message: string) => void, clean: (text: string) => string) {
    this.#warn = warn;
    this.#clean = clean;
  }

  fail(failure: unknown): void {
    if (this.#hasFailed) return;
    const reason = this.#clean(textOf(failure, 'message') ?? showThrown(failure));
    this.#hasFailed = true;
    this.#news = { state: 'local', reason };
    this.#warn(`the quota store cannot be used, so this process keeps to its part of the quota until it can: ${reason}`);
  }

  recover(): void {
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    this.#news = { state: 'shared' };
  }

  tell(call: Call): void {
    const news = this.#news;
    if (!news) return;
    this.#news = undefined;
    call.tell('quotaStore', (event) => ({ ...event, ...news }));
  }
}
