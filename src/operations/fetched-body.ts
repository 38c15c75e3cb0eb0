import type { Call } from '../call.ts';
import { isRequestBound } from '../clock/request-bound.ts';
import { startTimeLimit } from '../clock/timer.ts';
import { untilAborted } from '../clock/until-aborted.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';
import type { OnEnd, UnreadBody } from './operation.ts';

/** An answer whose body is to be a Response's. */
export interface Reading {
  answer: OpenAnswer;
  call: Call;
  /** The bytes that were already read. */
  begun?: Uint8Array | undefined;
  /** Called when the call ends. A body that stood still can be read after that. */
  onEnd: OnEnd;
}

// Old versions of workerd have none, and need none.
const FREED = globalThis.FinalizationRegistry && new FinalizationRegistry((free: () => void) => free());

/**
 * Ends a body at an abort of the signal. Neither keeps a body that is never read: once it is collected, its connection is closed.
 * Returns a function that removes the listener.
 */
function endLater(body: FetchedBody, answer: OpenAnswer, signal: AbortSignal | undefined): () => void {
  const reference = new WeakRef(body);
  const onAbort = () => reference.deref()?.fail(signal?.reason);
  const stop = () => signal?.removeEventListener('abort', onAbort);
  signal?.addEventListener('abort', onAbort);
  FREED?.register(body, () => {
    stop();
    answer.close();
  });
  return stop;
}

/**
 * The body of an answer, read at the caller's pace. The call holds its permit until the body was read or cancelled, or until the caller has
 * not asked for more within `attemptTimeoutMs`. Then the call ends, but the body can still be read, until the call's signal aborts or the
 * client is closed.
 */
export class FetchedBody implements UnderlyingDefaultSource<Uint8Array>, UnreadBody {
  readonly #answer: OpenAnswer;
  readonly #call: Call;
  readonly #onEnd: OnEnd;
  readonly #onAbort = () => this.fail(this.#call.signal.reason);
  #begun: Uint8Array | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #stopTimer = () => {};
  #stopListening = () => this.#call.signal.removeEventListener('abort', this.#onAbort);
  #stoodStill = false;
  #isOver = false;
  /** Why the body could not be read to its end. */
  failed: { error: unknown } | undefined;

  constructor({ answer, call, begun, onEnd }: Reading) {
    this.#answer = answer;
    this.#call = call;
    this.#begun = begun;
    this.#onEnd = onEnd;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    this.#answer.body.pause();
    this.#call.signal.addEventListener('abort', this.#onAbort);
    this.#watch();
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#stopTimer();
    try {
      const chunk = await this.#next();
      if (this.#isOver) return;
      if (chunk) controller.enqueue(chunk);
      else controller.close();
      if (chunk) this.#watch();
      else this.#end();
    } catch (failure) {
      // The service did not have to keep a body that stood still, and its call has ended.
      if (!this.#stoodStill) this.#answer.broke(failure);
      this.fail(failure);
    }
  }

  cancel(): void {
    this.#end();
  }

  #next(): Promise<Uint8Array | undefined> {
    const begun = this.#begun;
    this.#begun = undefined;
    if (begun) return Promise.resolve(begun);
    const next = this.#answer.body.nextWhenAsked();
    const { signal } = this.#call.options;
    return this.#stoodStill && signal ? untilAborted(next, signal) : next;
  }

  /** Starts the time limit. It does not keep the process alive, since a body may never be read. */
  #watch(): void {
    if (this.#stoodStill) return;
    this.#stopTimer = startTimeLimit(this.#call.options.attemptTimeoutMs, () => this.#standStill(), { keepsProcess: false });
  }

  #standStill(): void {
    this.#stoodStill = true;
    this.#stopListening();
    this.#answer.release();
    // In workerd, the body ends with its incoming request, and no other request may touch it.
    if (isRequestBound()) return this.#onEnd();
    this.#stopListening = endLater(this, this.#answer, this.#call.options.signal);
    this.#onEnd(undefined, this);
  }

  clientClosed(reason: unknown): void {
    this.fail(reason);
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    this.failed = { error };
    this.#controller?.error(error);
    this.#end(this.failed);
  }

  #end(failed?: { error: unknown }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopTimer();
    this.#stopListening();
    this.#answer.close();
    this.#onEnd(failed);
  }
}
