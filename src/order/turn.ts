import type { Call } from '../call.ts';
import { type Deferred, defer } from '../clock/deferred.ts';

/** How a call ended. */
export type End<Reply> = { reply: Reply } | { error: unknown };

/**
 * The outcome of a waiting turn: it begins, perhaps with the permit of the update that it supersedes, or a later update went in its place.
 */
export type News<Permit, Reply> = { passed: Permit | undefined } | { supersededBy: number; end: End<Reply> };

/** How an update is sent. */
export interface Sending<Permit, Reply> {
  /** Calls `onRefusal`, later, as soon as a permit would be longer in coming than the update may wait. Gives what ends this. */
  watch(onRefusal: (refusal: unknown) => void): () => void;
  /** Gives the permit for its first request; `passed` is that of an update that it supersedes. */
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
  /** It follows the next turn behind it that is not superseded itself. */
  isSuperseded = false;
  /** It has its permit and is about to be sent, or was: it is not superseded any more. */
  isSending = false;
  // Undefined while it does not wait, as between two waits.
  #news: Deferred<News<Permit, Reply>> | undefined;
  // What it was told meanwhile.
  #untold: News<Permit, Reply> | undefined;
  // It was aborted or refused, and leaves its line in a few microtasks.
  #isLeaving = false;

  constructor(call: Call, sending: Sending<Permit, Reply>) {
    this.call = call;
    this.sending = sending;
  }

  /** Whether a later update may go in its place. */
  get isReplaceable(): boolean {
    return this.call.options.latestOnly && !this.isSending;
  }

  /** Resolves when something comes of it; rejects with the reason of an abort. */
  wait(onLook: () => void): Promise<News<Permit, Reply>> {
    const { signal } = this.call;
    const news = defer<News<Permit, Reply>>(onLook);
    this.#news = news;
    const untold = this.#untold;
    this.#untold = undefined;
    if (untold) this.tell(untold);
    const onAbort = () => this.#refuse(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
    return news.promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Refuses the turn: it does not allow the wait of the update that queues in its place. */
  refuse(refusal: unknown): void {
    if (!this.isSuperseded) this.#refuse(refusal);
  }

  #refuse(reason: unknown): void {
    if (!this.#news) return;
    this.#isLeaving = true;
    this.#news.reject(reason);
  }

  /** A permit that comes too late is given back. */
  tell(news: News<Permit, Reply>): void {
    if (this.#isLeaving) {
      if ('passed' in news && news.passed !== undefined) this.sending.cancel(news.passed);
    } else if (this.#news) {
      this.#news.resolve(news);
      this.#news = undefined;
    } else this.#untold = news;
  }
}
