const WORD_BYTES = 8;

/**
 * A text of at least eight ASCII characters that is looked for in bytes, eight of them at a time.
 *
 * The words are read as doubles: eight ASCII characters are never NaN nor a zero, so that they are equal where their bytes are.
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

  /** Whether the phrase stands at `at`; there must be bytes for it, or others that differ. */
  isAt(view: DataView, at: number): boolean {
    const words = this.#words;
    for (let word = 0; word < words.length; word += 1) {
      if (view.getFloat64(at + this.#offset(word)) !== words[word]) return false;
    }
    return true;
  }

  // The last word overlaps the one before, so that no single bytes are left.
  #offset(word: number): number {
    return Math.min(word * WORD_BYTES, this.length - WORD_BYTES);
  }
}
