const WORD_BYTES = 8;

/**
 * A text of at least eight ASCII characters, to be compared with bytes, eight at a time.
 *
 * Each eight bytes are compared as a double. Eight ASCII characters are never NaN or a zero, so two such doubles are equal exactly if their
 * bytes are.
 */
export class Phrase {
  /** In bytes. */
  readonly length: number;
  readonly #words: Float64Array;

  constructor(text: string) {
    const bytes = new TextEncoder().encode(text);
    const view = new DataView(bytes.buffer);
    this.length = bytes.length;
    this.#words = Float64Array.from({ length: Math.ceil(bytes.length / WORD_BYTES) }, (_, word) => view.getFloat64(this.#offset(word)));
  }

  /** Whether the phrase is at index `at`. The view must not end within it; it may be padded with other bytes. */
  isAt(view: DataView, at: number): boolean {
    const words = this.#words;
    for (let word = 0; word < words.length; word += 1) {
      if (view.getFloat64(at + this.#offset(word)) !== words[word]) return false;
    }
    return true;
  }

  // The last word overlaps the one before it, so that no bytes remain.
  #offset(word: number): number {
    return Math.min(word * WORD_BYTES, this.length - WORD_BYTES);
  }
}
