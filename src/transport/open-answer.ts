import type { Answer } from '../contract/limits.ts';
import { InvalidResponseError, type PetStoreError } from '../errors.ts';
import type { Redactor } from '../redactor.ts';
import type { AttemptObserver } from './attempt-observer.ts';
import type { Body } from './body.ts';
import type { Exchange } from './exchange.ts';

interface Parts {
  response: Response;
  answer: Answer;
  exchange: Exchange;
  observer: AttemptObserver;
  redactor: Redactor;
}

/** A 2xx answer whose body is still to be read. */
export class OpenAnswer implements Body {
  readonly status: number;
  readonly headers: Headers;
  readonly answer: Answer;
  readonly #parts: Parts;
  #isReleased = false;

  constructor(parts: Parts) {
    this.status = parts.response.status;
    this.headers = parts.response.headers;
    this.answer = parts.answer;
    this.#parts = parts;
  }

  next(): Promise<Uint8Array | undefined> {
    return this.#parts.exchange.next();
  }

  /** As `next`, for consumers that may hold the body up. */
  nextWhenAsked(): Promise<Uint8Array | undefined> {
    return this.#parts.exchange.nextWhenAsked();
  }

  /** Makes text of the body fit to be shown. */
  clean(text: string): string {
    return this.#parts.redactor.clean(text);
  }

  /** Whether the bytes on the wire were others than those of the body. */
  get isCompressed(): boolean {
    const coding = this.headers.get('content-encoding') ?? 'identity';
    return !/^\s*(?:identity)?\s*$/i.test(coding) && this.headers.get('content-length') !== '0';
  }

  /** The failure of a body that was cut. */
  cutOff(): PetStoreError {
    const cause = Object.assign(new Error('the compressed body ends too early'), { code: 'ERR_BODY_CUT_OFF' });
    return this.#parts.exchange.failure(cause);
  }

  /** Says why the body could not be read. What is wrong with what it says is no fault of the connection. */
  broke(failure: unknown): void {
    if (failure instanceof InvalidResponseError) return;
    this.#parts.observer.fail(this.#parts.exchange.networkFailure(failure));
  }

  /** Releases the permit while the body is still to be read, by a consumer who may make other calls meanwhile. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#parts.observer.release();
  }

  /** To be called when the body was read or is not wanted any more. */
  close(): void {
    this.#parts.exchange.close();
    this.release();
  }
}
