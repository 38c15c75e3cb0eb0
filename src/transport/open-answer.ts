import type { Call } from '../call.ts';
import type { Answer } from '../contract/limits.ts';
import { isPetStoreError, type PetStoreError } from '../errors.ts';
import { isBrowser } from '../options/environment.ts';
import type { Redactor } from '../redactor.ts';
import type { AttemptObserver } from './attempt-observer.ts';
import { type Beginning, readBeginning } from './body.ts';
import type { HeaderFields } from './direct-answer.ts';
import type { Exchange, Received } from './exchange.ts';
import { statusFailure } from './status-failure.ts';

const MAX_ERROR_BYTES = 65_536;
const DROPPED_AT_CUT = 4096;

interface Parts extends Received {
  exchange: Exchange;
  observer: AttemptObserver;
  redactor: Redactor;
  /** When the gate opens again, if this answer closed it; epoch milliseconds on the local clock. */
  reopensAtMs: number | undefined;
  /** The address of the request. */
  address: string;
}

/** An answer outside 2xx, as far as it was read. */
interface ReadFailure {
  failure: PetStoreError;
  begun: Beginning;
}

/** An answer whose body is still to be read. */
export class OpenAnswer {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly answer: Answer;
  readonly body: Exchange;
  readonly #parts: Parts;
  #isReleased = false;

  constructor(parts: Parts) {
    this.status = parts.answer.status;
    this.headers = parts.headers;
    this.answer = parts.answer;
    this.body = parts.exchange;
    this.#parts = parts;
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

  /** Reads the error of a status outside 2xx: it counts even if the body cannot be read. Rejects only with the reason of an abort. */
  async readFailure(call: Call): Promise<ReadFailure> {
    const begun = await readBeginning(this.body, MAX_ERROR_BYTES);
    call.signal.throwIfAborted();
    const { reopensAtMs, address, redactor } = this.#parts;
    const failed = { answer: this.answer, bodyText: textOf(begun), location: this.headers.get('location'), address, reopensAtMs };
    return { failure: statusFailure(failed, call, redactor), begun };
  }

  /** Cleans text of the body, so that it can be shown. */
  clean(text: string): string {
    return this.#parts.redactor.clean(text);
  }

  /**
   * Whether a body without its end may have been cut on the way. Without a length or chunks, only the end of the connection ends it, and
   * runtimes do not say how that came about (RFC 9112 section 8). They also take a cut compressed stream for a complete one, and Safari a
   * cut chunked body. A page may not see the coding and the framing, but it sees a length. A 204 and a 205 have no body.
   */
  get mayBeCut(): boolean {
    const header = (name: string) => this.headers.get(name) ?? '';
    const length = header('content-length');
    const isEndedByClose = /close/i.test(header('connection')) && !header('transfer-encoding');
    if (length === '' && (isBrowser() || isEndedByClose)) return this.status !== 204 && this.status !== 205;
    return !/^\s*(?:identity)?\s*$/i.test(header('content-encoding')) && length !== '0';
  }

  /** The error of a body that was cut. */
  cutOff(): PetStoreError {
    const cause = Object.assign(new Error('the body ends too early'), { code: 'ERR_BODY_CUT_OFF' });
    return this.body.failure(cause);
  }

  /** Reports why the body could not be read. An error with a status concerns the content, and is not a failure of the connection. */
  broke(failure: unknown): void {
    if (isPetStoreError(failure) && failure.status !== undefined) return;
    this.#parts.observer.fail(this.body.networkFailure(failure));
  }

  /** Releases the permit before the body is read, for a consumer that may make other calls meanwhile. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#parts.observer.release();
  }

  /** To be called when the body has been read or is no longer wanted. */
  close(): void {
    this.body.close();
    this.release();
  }
}

function textOf({ bytes, end }: Beginning): string {
  if (typeof end === 'object') return '';
  // The end of a body that was cut may be the beginning of an echoed key, in any encoding.
  return new TextDecoder().decode(bytes.subarray(0, end === 'whole' ? MAX_ERROR_BYTES : MAX_ERROR_BYTES - DROPPED_AT_CUT));
}
