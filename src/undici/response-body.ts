import { streamOf } from '../transport/body-reader.ts';
import type { BodyReader, Bytes } from '../transport/direct-answer.ts';

/** The object with which a handler of undici 7 or 8 controls its response. */
export interface Controller {
  pause(): void;
  resume(): void;
  abort(reason: Error): void;
}

/**
 * Aborts a request for which nobody waits any more. If its dispatcher fails to, nobody needs to know. The reason of the abort is kept from
 * undici 8, which can fail other requests with it, too: those that go to a new connection after a GOAWAY.
 */
export function drop(controller: Controller): void {
  try {
    controller.abort(new DOMException('A request on the same connection was aborted', 'AbortError'));
  } catch {
    // The request goes on, and its answer goes nowhere.
  }
}

/** With more bytes waiting to be read, the connection is paused. */
const MOST_WAITING_BYTES = 65_536;

interface Reading {
  resolve: (read: ReadableStreamReadResult<Bytes>) => void;
  reject: (reason: unknown) => void;
}

/** The bytes of a response as they arrive. It is read like a ReadableStream, at a fraction of the cost. */
export class ResponseBody implements BodyReader {
  readonly #controller: Controller;
  readonly #onCancel: () => void;
  readonly #chunks: Bytes[] = [];
  #waitingBytes = 0;
  #reading: Reading | undefined;
  #isEnded = false;
  #failure: { reason: unknown } | undefined;

  constructor(controller: Controller, onCancel: () => void) {
    this.#controller = controller;
    this.#onCancel = onCancel;
  }

  push(chunk: Bytes): void {
    if (this.#isEnded || this.#failure) return;
    const reading = this.#takeReading();
    if (reading) return reading.resolve({ value: chunk, done: false });
    this.#chunks.push(chunk);
    this.#waitingBytes += chunk.byteLength;
    if (this.#waitingBytes > MOST_WAITING_BYTES) this.#controller.pause();
  }

  end(): void {
    this.#isEnded = true;
    this.#takeReading()?.resolve({ value: undefined, done: true });
  }

  fail(reason: unknown): void {
    if (this.#isEnded) return;
    this.#failure ??= { reason };
    this.#takeReading()?.reject(reason);
  }

  takeWhole(maxBytes: number): readonly Bytes[] | undefined {
    return this.#isEnded && this.#waitingBytes <= maxBytes ? this.#chunks.splice(0) : undefined;
  }

  /** Reads the next bytes. After a failure, the bytes that arrived before it are returned first. */
  read(): Promise<ReadableStreamReadResult<Bytes>> {
    const chunk = this.#chunks.shift();
    if (chunk) {
      this.#waitingBytes -= chunk.byteLength;
      if (this.#chunks.length === 0) this.#controller.resume();
      return Promise.resolve({ value: chunk, done: false });
    }
    if (this.#failure) return Promise.reject(this.#failure.reason);
    if (this.#isEnded) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => {
      this.#reading = { resolve, reject };
    });
  }

  /** Drops the body, and its connection if the body is not complete. */
  async cancel(): Promise<void> {
    this.#onCancel();
    this.#chunks.length = 0;
    if (this.#isEnded || this.#failure) return;
    this.end();
    drop(this.#controller);
  }

  /** The body as a ReadableStream. */
  toStream(): ReadableStream<Bytes> {
    return streamOf(this);
  }

  /** Used by Node's streams. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Bytes> {
    try {
      for (let read = await this.read(); !read.done; read = await this.read()) yield read.value;
    } finally {
      await this.cancel();
    }
  }

  #takeReading(): Reading | undefined {
    const reading = this.#reading;
    this.#reading = undefined;
    return reading;
  }
}
