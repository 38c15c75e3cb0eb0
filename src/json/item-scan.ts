import { BYTE, isSpace } from './bytes.ts';

/**
 * Finds the end of a JSON value in a list by its quotes and brackets alone, whatever its layout.
 *
 * The end is right if the value is valid, which `JSON.parse` has to check. The bytes of a value that arrives in several chunks are scanned
 * only once, so that the work stays linear.
 */
export class ItemScan {
  /** Number of bytes of the value that were already scanned. */
  #scanned = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  /** Whether a value was begun whose end has not arrived. */
  get isWithinItem(): boolean {
    return this.#scanned > 0;
  }

  /** The index after the value that begins at `start`, or -1 if the bytes end before it does; then call again with more bytes. */
  findEnd(bytes: Uint8Array, start: number): number {
    for (let index = start + this.#scanned; index < bytes.length; index += 1) {
      const byte = bytes[index];
      if (this.#inString ? this.#endsWithinString(byte) : this.#endsWith(byte)) return this.#finish(index + 1);
      if (this.#depth < 0 || (this.#depth === 0 && !this.#inString && endsScalar(byte))) return this.#finish(index);
    }
    this.#scanned = bytes.length - start;
    return -1;
  }

  /** Forgets a value whose end has not arrived. */
  restart(): void {
    this.#finish(0);
  }

  #endsWithinString(byte: number | undefined): boolean {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BYTE.backslash) this.#escaped = true;
    else if (byte === BYTE.quote) this.#inString = false;
    return !this.#inString && this.#depth === 0;
  }

  #endsWith(byte: number | undefined): boolean {
    if (byte === BYTE.quote) this.#inString = true;
    else if (byte === BYTE.openObject || byte === BYTE.openList) this.#depth += 1;
    else if (byte === BYTE.closeObject || byte === BYTE.closeList) {
      this.#depth -= 1;
      return this.#depth === 0;
    }
    return false;
  }

  #finish(end: number): number {
    this.#scanned = 0;
    this.#depth = 0;
    this.#inString = false;
    this.#escaped = false;
    return end;
  }
}

function endsScalar(byte: number | undefined): boolean {
  return byte === BYTE.comma || isSpace(byte);
}
