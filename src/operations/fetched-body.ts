import type { Call } from '../call.ts';
import { startTimer } from '../clock/timer.ts';
import { untilAborted } from '../clock/until-aborted.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';

interface FetchedBodyStart {
  answer: OpenAnswer;
  call: Call;
  /** The bytes that were already read. */
  begun?: Uint8Array | undefined;
  /** Called when the call ends. A body that stood still can be read after that. */
  onEnd: (failed?: { error: unknown }) => void;
}

/**
 * The body of an answer, read at the caller's pace. The call holds its permit until the body was read or cancelled, or until the caller has
 * not asked for more within `attemptTimeoutMs`. Then the call ends, but the body can still be read.
 */
export class FetchedBody implements UnderlyingDefaultSource<Uint8Array> {
  readonly #answer: OpenAnswer;
  readonly #call: Call;
  readonly #onEnd: FetchedBodyStart['onEnd'];
  readonly #onAbort = () => this.#fail(this.#call.signal.reason);
  #begun: Uint8Array | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #stopTimer = () => {};
  #stoodStill = false;
  #isOver = false;
  /** Why the body could not be read to its end. */
  failed: { error: unknown } | undefined;

  constructor({ answer, call, begun, onEnd }: FetchedBodyStart) {
    this.#answer = answer;
    this.#call = call;
    this.#begun = begun;
    this.#onEnd = onEnd;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    this.#answer.pause();
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
      this.#answer.broke(failure);
      this.#fail(failure);
    }
  }

  cancel(): void {
    this.#end();
  }

  #next(): Promise<Uint8Array | undefined> {
    const begun = this.#begun;
    this.#begun = undefined;
    if (begun) return Promise.resolve(begun);
    const next = this.#answer.nextWhenAsked();
    const { signal } = this.#call.options;
    return this.#stoodStill && signal ? untilAborted(next, signal) : next;
  }

  /** Starts the time limit. It does not keep the process alive, since a body may never be read. */
  #watch(): void {
    if (this.#stoodStill) return;
    this.#stopTimer = startTimer(this.#call.options.attemptTimeoutMs, () => this.#standStill(), { keepsProcess: false });
  }

  #standStill(): void {
    this.#stoodStill = true;
    this.#leaveCall();
    this.#answer.release();
    this.#onEnd();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.failed = { error };
    this.#controller?.error(error);
    this.#end(this.failed);
  }

  #end(failed?: { error: unknown }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leaveCall();
    this.#answer.close();
    this.#onEnd(failed);
  }

  #leaveCall(): void {
    this.#stopTimer();
    this.#call.signal.removeEventListener('abort', this.#onAbort);
  }
}
