const WORD_BYTES = 4;

/** A text of at least four ASCII characters that is looked for in bytes, four of them at a time. */
export class Phrase {
  /** In bytes. */
  readonly length: number;
  readonly #words: { offset: number; word: number }[] = [];

  constructor(text: string) {
    const bytes = new TextEncoder().encode(text);
    this.length = bytes.length;
    for (let offset = 0; offset < bytes.length; offset += WORD_BYTES) this.#addWord(bytes, Math.min(offset, bytes.length - WORD_BYTES));
  }

  /** Whether the phrase stands at `at`. */
  isAt(view: DataView, at: number): boolean {
    if (at + this.length > view.byteLength) return false;
    for (const { offset, word } of this.#words) {
      if (view.getInt32(at + offset) !== word) return false;
    }
    return true;
  }

  // The last word overlaps the one before, so that no single bytes are left.
  #addWord(bytes: Uint8Array, offset: number): void {
    this.#words.push({ offset, word: new DataView(bytes.buffer).getInt32(offset) });
  }
}
