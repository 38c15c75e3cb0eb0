const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const CLOSING_BRACE = 0x7d;
const OPENING: readonly number[] = [0x5b, 0x7b];
const CLOSING: readonly number[] = [0x5d, CLOSING_BRACE];

/**
 * Splits the text of a JSON array into the texts of its elements, chunk by chunk. It does not check whether these are valid JSON.
 *
 * It only looks at brackets, commas and strings, which suffice to find where each element ends.
 */
export class JsonElements {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #rest = '';
  #isClosed = false;

  /** The text since the last complete element. */
  get rest(): string {
    return this.#rest;
  }

  /** Whether the array has ended and only white space follows. */
  get isComplete(): boolean {
    return this.#isClosed && this.#rest.trim() === '';
  }

  /** Takes the next chunk, and yields the elements that it completes. */
  *push(chunk: string): Generator<string> {
    const scanned = this.#rest.length;
    const text = this.#rest + chunk;
    let start = 0;
    for (let index = scanned; index < text.length; index++) {
      const boundary = this.#isClosed ? 'none' : this.#step(text.charCodeAt(index));
      if (boundary === 'none') continue;
      if (boundary !== 'open') yield text.slice(start, index);
      start = index + 1;
    }
    this.#rest = text.slice(start);
  }

  /** Says whether the array opens or closes here, or an element ends. */
  #step(code: number): 'none' | 'open' | 'end' | 'close' {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === QUOTE) this.#isInString = false;
      return 'none';
    }
    if (code === QUOTE) this.#isInString = true;
    if (code === COMMA) return this.#depth === 1 ? 'end' : 'none';
    if (OPENING.includes(code)) return ++this.#depth === 1 ? 'open' : 'none';
    // A brace does not close the array.
    if (code === CLOSING_BRACE && this.#depth === 1) return 'none';
    if (!CLOSING.includes(code) || --this.#depth > 0) return 'none';
    this.#isClosed = true;
    return 'close';
  }
}
