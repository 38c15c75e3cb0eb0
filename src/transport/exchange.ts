import type { Call } from '../call.ts';
import { LightSignal } from '../clock/light-signal.ts';
import { monotonicMs } from '../clock/monotonic.ts';
import { startTimeLimit } from '../clock/timer.ts';
import { type Answer, readAnswer } from '../contract/limits.ts';
import { ConfigurationError, isPetStoreError, type PetStoreError } from '../errors.ts';
import { hasMethods } from '../options/rules.ts';
import type { NetworkFailure } from './attempt-observer.ts';
import { readerOf } from './body-reader.ts';
import { type Asked, connectionFailure, timeLimitFailure } from './connection-failure.ts';
import type { BodyReader, HeaderFields, WireAnswer } from './direct-answer.ts';
import type { Send, WireRequest } from './http.ts';
import { isBodyNetworkError, isNetworkError } from './network-error.ts';

/** The time limit of an attempt starts again after this many bytes of body: a large list may take long, a stalled one may not. */
const BYTES_PER_TIME_LIMIT = 4 * 1_048_576;

/** An answer whose headers have come, and what they say. */
export interface Received {
  response: WireAnswer;
  headers: HeaderFields;
  answer: Answer;
}

/**
 * One request on the wire, from its sending until the body of its answer is read or dropped. One signal covers headers and body:
 * the end of the call, or the time limit of the attempt, stops whatever is under way, even if a fetch ignores its signal.
 * It throws only a PetStoreError, or the reason why the call ended.
 */
export class Exchange {
  /** When the exchange began, on the monotonic clock. */
  readonly startedAtMs = monotonicMs();
  readonly #call: Call;
  readonly #asked: Asked;
  readonly #signal = new LightSignal();
  readonly #onCallEnd = () => this.#stop(this.#call.signal.reason);
  #stopTimer = () => {};
  #bytesLeft = BYTES_PER_TIME_LIMIT;
  #reader: BodyReader | undefined;
  // Why the body cannot be read; reads reject with it. The headers still count.
  #badBody: ConfigurationError | undefined;
  // Whether the caller's own code failed.
  #isOwnMistake = false;
  #isAnswered = false;
  #giveUp: ((reason: unknown) => void) | undefined;
  #isOver = false;

  constructor(call: Call, asked: Asked) {
    this.#call = call;
    this.#asked = asked;
    call.signal.addEventListener('abort', this.#onCallEnd);
    this.#restartTimer();
  }

  /** Sends the request; resolves with the answer when its headers are in. A fetch that ignores its signal is not waited for. */
  send(send: Send, request: Omit<WireRequest, 'signal'>): Promise<Received> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      // Async, since a caller's fetch may also throw synchronously.
      const receive = async () => {
        try {
          resolve(this.#take(await send({ ...request, signal: this.#signal })));
        } catch (thrown) {
          reject(this.#reasonOf(thrown, isNetworkError(thrown)));
        }
      };
      void receive();
    });
  }

  /** Checks the answer: it may be a network error without a status (fetch standard, network error), or anything from a caller's fetch. */
  #take(response: WireAnswer): Received {
    if (response?.type === 'error') throw new Error('fetch gave a network error');
    // Each is read once: in Node, these getters of a Response cost more than they seem to.
    const [status, headers] = [response?.status, response?.headers];
    this.#isAnswered = true;
    if (!Number.isInteger(status) || !hasMethods(headers, ['get'])) throw this.#badFetch('a web Response');
    if (response.type === 'direct') this.#reader = response.getReader();
    else this.#takeBody(response.body, response.bodyUsed);
    // A fetch that ignores its signal may answer after the exchange has ended.
    if (this.#isOver) this.#drop();
    return { response, headers, answer: readAnswer(status, headers, Date.now()) };
  }

  #takeBody(body: ReadableStream<Uint8Array<ArrayBuffer>> | null, isUsed: boolean): void {
    if (body === null) return;
    if (!hasMethods(body, ['getReader'])) this.#badBody = this.#badFetch('a web Response, whose body is a ReadableStream');
    else if (isUsed || body.locked) this.#badBody = this.#badFetch('a Response whose body is unread: read `response.clone()` instead');
    else this.#reader = readerOf(body);
  }

  /** A ConfigurationError, which is not retried: another attempt would fail the same way. */
  #badFetch(what: string): ConfigurationError {
    const message = `Cannot ${this.#call.purpose}: \`fetch\` must give ${what}`;
    return new ConfigurationError(message, { ...this.#call.details(), option: 'fetch' });
  }

  /** Gives all chunks of a body that has arrived whole and has at most `maxBytes`; otherwise undefined. */
  takeWhole(maxBytes: number): readonly Uint8Array[] | undefined {
    if (this.#isEnded) return undefined;
    const chunks = this.#reader?.takeWhole?.(maxBytes);
    if (chunks) this.#reader = undefined;
    return chunks;
  }

  /** Gives the next bytes of the body, undefined at its end. Not an async function, which would cost more for each chunk. */
  next(): Promise<Uint8Array | undefined> {
    if (this.#badBody) return Promise.reject(this.#badBody);
    if (!this.#reader) return Promise.resolve(undefined);
    return this.#reader.read().then(
      (read) => this.#takeBytes(read),
      (thrown: unknown) => {
        throw this.#reasonOf(thrown, isBodyNetworkError(thrown));
      },
    );
  }

  #takeBytes({ value, done }: ReadableStreamReadResult<Uint8Array>): Uint8Array | undefined {
    // A dropped body ends at once, even for a pending read.
    if (this.#isEnded) throw this.#reasonOf(undefined, false);
    if (done) this.#reader = undefined;
    if (value === undefined) return undefined;
    if (!ArrayBuffer.isView(value)) throw this.#reasonOf(new TypeError('the body gave something other than bytes'), false);
    this.#bytesLeft -= value.byteLength;
    if (this.#bytesLeft <= 0) this.#restartTimer();
    return value;
  }

  /** Whether the exchange was stopped or closed. */
  get #isEnded(): boolean {
    return this.#isOver || this.#signal.aborted;
  }

  /** Like `next`, but with a time limit for each chunk; the time that the consumer takes between chunks does not count. */
  async nextWhenAsked(): Promise<Uint8Array | undefined> {
    this.#restartTimer();
    const chunk = await this.next();
    this.#stopTimer();
    return chunk;
  }

  /** Stops the time limit until the next chunk is asked for. */
  pause(): void {
    this.#stopTimer();
  }

  /** Ends the exchange; a body that is not read to its end drops the connection. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopTimer();
    this.#call.signal.removeEventListener('abort', this.#onCallEnd);
    this.#drop();
  }

  #drop(): void {
    this.#reader?.cancel().catch(() => {});
  }

  /** The error of an answer that never came or was broken. */
  failure(thrown: unknown): PetStoreError {
    return connectionFailure(thrown, this.#call, { ...this.#asked, isAnswered: this.#isAnswered });
  }

  /** The failure of this exchange if the network or the service is to blame for it, and not the caller's own code. */
  networkFailure(failure: unknown): NetworkFailure | undefined {
    if (this.#isOwnMistake) return undefined;
    return isPetStoreError(failure) && (failure.kind === 'connection' || failure.kind === 'timeout') ? failure : undefined;
  }

  #restartTimer(): void {
    this.#stopTimer();
    // A read after the exchange was closed does not keep the process alive.
    if (this.#isOver) return;
    this.#bytesLeft = BYTES_PER_TIME_LIMIT;
    this.#stopTimer = startTimeLimit(this.#call.options.attemptTimeoutMs, () => this.#stop(timeLimitFailure(this.#call, this.#asked)));
  }

  #stop(reason: unknown): void {
    this.#signal.abort(reason);
    this.#giveUp?.(reason);
    this.#drop();
  }

  /** The error to throw. If the exchange was stopped or dropped, that is the reason, and the failure itself is ignored. */
  #reasonOf(thrown: unknown, isOfNetwork: boolean): unknown {
    if (this.#signal.aborted) return this.#signal.reason;
    if (this.#isOver) return new DOMException('The answer was dropped', 'AbortError');
    this.#isOwnMistake = !isOfNetwork;
    if (!isPetStoreError(thrown) || thrown.kind !== 'configuration') return this.failure(thrown);
    // A fetch with bad settings has sent nothing.
    if (!this.#isAnswered) this.#call.refused('connection');
    return ofCall(thrown, this.#call);
  }
}

/** The same error with the details of the call that it ended. */
export function ofCall({ message, option, cause }: ConfigurationError, call: Call): ConfigurationError {
  return new ConfigurationError(message, { ...call.details(), option, cause });
}
