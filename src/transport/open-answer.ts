import type { Call } from '../call.ts';
import type { Answer } from '../contract/limits.ts';
import { PetStoreError } from '../errors.ts';
import { isBrowser } from '../options/environment.ts';
import type { Redactor } from '../redactor.ts';
import type { AttemptObserver } from './attempt-observer.ts';
import { type Body, concat } from './body.ts';
import type { HeaderFields, WireAnswer } from './direct-answer.ts';
import type { Exchange } from './exchange.ts';
import { statusFailure } from './status-failure.ts';

const MAX_ERROR_BYTES = 65_536;
const DROPPED_AT_CUT = 4096;

interface Parts {
  response: WireAnswer;
  headers: HeaderFields;
  answer: Answer;
  exchange: Exchange;
  observer: AttemptObserver;
  redactor: Redactor;
  /** When the gate opens again, if this answer closed it; epoch milliseconds on the local clock. */
  reopensAtMs: number | undefined;
  /** The address of the request. */
  address: string;
}

/** The beginning of an Error body. */
export interface ErrorBeginning {
  bytes: Uint8Array;
  /** `whole`: there is no more. `cut`: there is more, and it can be read. Else the error that ended the body. */
  end: 'whole' | 'cut' | { error: unknown };
}

/** An answer whose body is still to be read. */
export class OpenAnswer implements Body {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly answer: Answer;
  readonly #parts: Parts;
  #isReleased = false;

  constructor(parts: Parts) {
    this.status = parts.answer.status;
    this.headers = parts.headers;
    this.answer = parts.answer;
    this.#parts = parts;
  }

  takeWhole(maxBytes: number): readonly Uint8Array[] | undefined {
    return this.#parts.exchange.takeWhole(maxBytes);
  }

  next(): Promise<Uint8Array | undefined> {
    return this.#parts.exchange.next();
  }

  /** Like `next`, for consumers that may take their time between chunks. */
  nextWhenAsked(): Promise<Uint8Array | undefined> {
    return this.#parts.exchange.nextWhenAsked();
  }

  /** All headers, as `withResponse` gives them. */
  get allHeaders(): Headers {
    const { response } = this.#parts;
    return response.type === 'direct' ? response.toHeaders() : response.headers;
  }

  /** The Response of fetch; its body is read only through this class. */
  get response(): Response {
    const { response } = this.#parts;
    return response.type === 'direct' ? response.toResponse() : response;
  }

  /** Stops the time limit until the consumer asks for the next chunk. */
  pause(): void {
    this.#parts.exchange.pause();
  }

  /** Reads the beginning of an Error body. It never rejects: the status counts even if the body cannot be read. */
  async readErrorBody(): Promise<ErrorBeginning> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      while (size <= MAX_ERROR_BYTES) {
        const chunk = await this.next();
        if (!chunk) return { bytes: concat(chunks, size), end: 'whole' };
        chunks.push(chunk);
        size += chunk.byteLength;
      }
      return { bytes: concat(chunks, size), end: 'cut' };
    } catch (error) {
      return { bytes: concat(chunks, size), end: { error } };
    }
  }

  /** The error of a status outside 2xx. */
  failure(call: Call, begun: ErrorBeginning): PetStoreError {
    const bodyText = textOf(begun);
    const { reopensAtMs, address, redactor } = this.#parts;
    const location = this.headers.get('location');
    return statusFailure({ answer: this.answer, bodyText, location, address, reopensAtMs }, call, redactor);
  }

  /** Cleans text of the body, so that it can be shown. */
  clean(text: string): string {
    return this.#parts.redactor.clean(text);
  }

  /**
   * Whether a body without its end may have been cut on the way. Runtimes take a cut compressed stream for a complete one, and Safari also
   * a chunked body whose connection closes (RFC 9112 section 8). A page may not see the coding, but it sees a length. A 204 has no body.
   */
  get mayBeCut(): boolean {
    const coding = this.headers.get('content-encoding') ?? '';
    const length = this.headers.get('content-length');
    if (isBrowser() && length === null) return this.status !== 204;
    return !/^\s*(?:identity)?\s*$/i.test(coding) && length !== '0';
  }

  /** The error of a body that was cut. */
  cutOff(): PetStoreError {
    const cause = Object.assign(new Error('the body ends too early'), { code: 'ERR_BODY_CUT_OFF' });
    return this.#parts.exchange.failure(cause);
  }

  /** Reports why the body could not be read. An error with a status concerns the content, and is not a failure of the connection. */
  broke(failure: unknown): void {
    if (failure instanceof PetStoreError && failure.status !== undefined) return;
    this.#parts.observer.fail(this.#parts.exchange.networkFailure(failure));
  }

  /** Releases the permit before the body is read, for a consumer that may make other calls meanwhile. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#parts.observer.release();
  }

  /** To be called when the body has been read or is no longer wanted. */
  close(): void {
    this.#parts.exchange.close();
    this.release();
  }
}

function textOf({ bytes, end }: ErrorBeginning): string {
  if (end !== 'whole' && end !== 'cut') return '';
  // The end of a body that was cut may be the beginning of an echoed key, in any encoding.
  return new TextDecoder().decode(bytes.subarray(0, end === 'whole' ? MAX_ERROR_BYTES : MAX_ERROR_BYTES - DROPPED_AT_CUT));
}
