import type { Call } from '../call.ts';
import { type Deferred, defer } from '../clock/deferred.ts';

/** How a call ended. */
export type End<Reply> = { reply: Reply } | { error: unknown };

/**
 * What a waiting turn waits for: either it begins, perhaps with the permit of an update that it supersedes, or a later update was sent in
 * its place and ended.
 */
export type News<Permit, Reply> = { passed: Permit | undefined } | { supersededBy: number; end: End<Reply> };

/** How an update is sent. */
export interface Sending<Permit, Reply> {
  /** The update, whose priority was low, has a normal one behind it, and must not hold it up. */
  raise(): void;
  /** Calls `onRefusal` once a permit would take longer than the update may wait. Returns a function that stops this. */
  watch(onRefusal: (refusal: unknown) => void): () => void;
  /** Gives the permit for the first request; `passed` is the permit of an update that this one supersedes. */
  admit(passed: Permit | undefined): Permit | Promise<Permit>;
  /** Gives back a permit that is not used. */
  cancel(permit: Permit): void;
  send(permit: Permit): Promise<Reply>;
}

/** One update's place in the line of its pet. */
export class Turn<Permit, Reply> {
  readonly call: Call;
  readonly sending: Sending<Permit, Reply>;
  before: Turn<Permit, Reply> | undefined;
  after: Turn<Permit, Reply> | undefined;
  isInLine = true;
  /** Ends the watch over the update, if there is one. */
  unwatch = () => {};
  /** Whether it settles like the next turn behind it that is not superseded itself. */
  isSuperseded = false;
  /** Whether it has its permit and is about to be sent, or was sent: it can no longer be superseded. */
  isSending = false;
  // Undefined while the turn does not wait, such as between two waits.
  #news: Deferred<News<Permit, Reply>> | undefined;
  // News that came while the turn did not wait.
  #untold: News<Permit, Reply> | undefined;
  // Whether it was aborted or refused, and leaves its line in a few microtasks.
  #isLeaving = false;

  constructor(call: Call, sending: Sending<Permit, Reply>) {
    this.call = call;
    this.sending = sending;
  }

  /** Resolves with the next news; rejects with the reason of an abort or a refusal. */
  wait(onLook: () => void): Promise<News<Permit, Reply>> {
    const { signal } = this.call;
    const news = defer<News<Permit, Reply>>(onLook);
    this.#news = news;
    const untold = this.#untold;
    this.#untold = undefined;
    if (untold) this.tell(untold);
    const onAbort = () => this.refuse(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
    return news.promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Ends the wait of the turn, because of an abort or because the wait is longer than it allows. */
  refuse(reason: unknown): void {
    if (!this.#news) return;
    this.#isLeaving = true;
    this.#news.reject(reason);
  }

  /** Passes news to the turn. A permit that comes too late is given back. */
  tell(news: News<Permit, Reply>): void {
    if (this.#isLeaving) {
      if ('passed' in news && news.passed !== undefined) this.sending.cancel(news.passed);
    } else if (this.#news) {
      this.#news.resolve(news);
      this.#news = undefined;
    } else this.#untold = news;
  }
}
