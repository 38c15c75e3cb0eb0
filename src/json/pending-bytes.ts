const FIRST_CAPACITY = 16_384;

/** The bytes that have come and are not used up; it keeps no byte that is, and copies each only a few times. */
export class PendingBytes {
  /** What is there; a new view after each `append`. */
  view = new Uint8Array();
  /** Index of the first byte of `view` that is not used up. */
  at = 0;
  #store = new Uint8Array(FIRST_CAPACITY);

  append(bytes: Uint8Array): void {
    const rest = this.view.subarray(this.at);
    const length = rest.length + bytes.length;
    if (length > this.#store.length) {
      this.#store = new Uint8Array(Math.max(length, 2 * this.#store.length));
      this.#store.set(rest);
    } else if (this.at > 0) {
      this.#store.set(rest);
    }
    this.#store.set(bytes, rest.length);
    this.view = this.#store.subarray(0, length);
    this.at = 0;
  }
}
