import { BYTE } from './bytes.ts';

const FIRST_CAPACITY = 16_384;

/**
 * Number of zero bytes after the data, more than the longest phrase that a reader compares. So a reader need not check for the end: beyond
 * it nothing matches, since JSON text has no zero byte (RFC 8259 section 7).
 */
export const PADDING_BYTES = 32;

/** The received bytes that have not been read yet. Read bytes are dropped, and each byte is copied only a few times. */
export class PendingBytes {
  /** The bytes that have arrived; a new view after each `append`. */
  view = new Uint8Array();
  /** Index in `view` of the first byte that was not read yet. */
  at = 0;
  /** Index in `view` of the last closing brace; negative if there is none. An object that begins after it is not complete. */
  lastClose = -1;
  #store = new Uint8Array(FIRST_CAPACITY);

  append(bytes: Uint8Array): void {
    const rest = this.view.subarray(this.at);
    const length = rest.length + bytes.length;
    if (length + PADDING_BYTES > this.#store.length) {
      this.#store = new Uint8Array(Math.max(length + PADDING_BYTES, 2 * this.#store.length));
      this.#store.set(rest);
    } else if (this.at > 0) {
      this.#store.set(rest);
    }
    this.#store.set(bytes, rest.length);
    this.#store.fill(0, length, length + PADDING_BYTES);
    this.view = this.#store.subarray(0, length);
    this.lastClose = this.#findLastClose(bytes, rest.length);
    this.at = 0;
  }

  /** `view` with its padding. */
  get padded(): Uint8Array<ArrayBuffer> {
    return this.#store.subarray(0, this.view.length + PADDING_BYTES);
  }

  #findLastClose(added: Uint8Array, start: number): number {
    const found = added.lastIndexOf(BYTE.closeObject);
    return found === -1 ? this.lastClose - this.at : start + found;
  }
}
