import { type Int64, type InventoryItem, PetStatus } from '../contract/models.ts';
import { BYTE, skipSpace } from './bytes.ts';
import { MAX_ITEM_BYTES } from './failure.ts';
import { type ItemId, isSafeInteger, type ReadPetId, readPetId } from './pet-id.ts';

const TOKEN = {
  petId: encode('"petId"'),
  quantity: encode('"quantity"'),
  status: encode('"status"'),
};
const KNOWN_STATUSES = PetStatus.options.map((text) => ({ text, bytes: encode(text) }));

/** Longer texts are left to others: a call with that many arguments could overflow the stack. */
const MAX_STATUS_LENGTH = 64;

/** The most digits of an int64, and how many of them are read apart so that both parts are exact in a double. */
const MAX_DIGITS = 19;
const LOW_DIGITS = 9;
const LOW_UNIT = 10n ** 9n;

/**
 * Reads items as services mostly write them, straight from the bytes: petId, quantity, status in this order and nothing else, whole
 * numbers in digits, a status in visible ASCII without escapes; white space is allowed.
 *
 * Several times as fast as decoding and `JSON.parse`. Whatever is not of this form is left to a reader of any form, without a judgement.
 */
export class PlainItems<Ids extends Int64> {
  /** The index behind the item that was read last. */
  end = 0;
  #bytes: Uint8Array = new Uint8Array();
  readonly #readPetId: ReadPetId<Ids>;

  constructor(int64: Ids) {
    const readers: { readonly [K in Int64]: ReadPetId<K> } = readPetId;
    this.#readPetId = readers[int64];
  }

  /** The item that begins at `start`; `undefined` when it is not of the plain form, or not all there. */
  read(bytes: Uint8Array, start: number): InventoryItem<Ids> | undefined {
    this.#bytes = bytes;
    this.end = start;
    if (!this.#take(BYTE.openObject) || !this.#takeName(TOKEN.petId)) return undefined;
    const petId = this.#takePetId();
    if (petId === undefined || !this.#take(BYTE.comma) || !this.#takeName(TOKEN.quantity)) return undefined;
    const quantity = this.#takeQuantity();
    if (quantity === undefined || !this.#take(BYTE.comma) || !this.#takeName(TOKEN.status)) return undefined;
    const status = this.#takeStatus();
    if (status === undefined || !this.#take(BYTE.closeObject) || this.end - start > MAX_ITEM_BYTES) return undefined;
    return { petId, quantity, status };
  }

  #take(byte: number): boolean {
    const bytes = this.#bytes;
    const at = bytes[this.end] === byte ? this.end : skipSpace(bytes, this.end);
    if (bytes[at] !== byte) return false;
    this.end = at + 1;
    return true;
  }

  #takeName(name: Uint8Array): boolean {
    const bytes = this.#bytes;
    const at = skipSpace(bytes, this.end);
    if (!hasAt(bytes, at, name)) return false;
    this.end = at + name.length;
    return this.#take(BYTE.colon);
  }

  #takePetId(): ItemId<Ids> | undefined {
    const isNegative = this.#takeMinus();
    const start = this.end;
    const size = this.#takeDigits();
    const length = this.end - start;
    if (isSafeInteger(size)) return this.#readPetId(isNegative ? 0 - size : size);
    if (Number.isNaN(size) || length > MAX_DIGITS) return undefined;
    const exact = this.#exactDigits(start, this.end);
    return this.#readPetId(isNegative ? -exact : exact);
  }

  #takeQuantity(): number | undefined {
    const isNegative = this.#takeMinus();
    const size = this.#takeDigits();
    if (!isSafeInteger(size)) return undefined;
    return isNegative ? 0 - size : size;
  }

  #takeMinus(): boolean {
    this.end = skipSpace(this.#bytes, this.end);
    if (this.#bytes[this.end] !== BYTE.minus) return false;
    this.end += 1;
    return true;
  }

  /** The value of the digits as a double, not exact beyond 2^53; NaN where JSON allows no such number. */
  #takeDigits(): number {
    const bytes = this.#bytes;
    const start = this.end;
    let at = start;
    let size = 0;
    for (let byte = bytes[at]; isDigit(byte); byte = bytes[at]) {
      size = size * 10 + byte - BYTE.zero;
      at += 1;
    }
    this.end = at;
    const length = at - start;
    const hasLeadingZero = length > 1 && bytes[start] === BYTE.zero;
    return length === 0 || hasLeadingZero ? Number.NaN : size;
  }

  #exactDigits(start: number, end: number): bigint {
    const middle = end - LOW_DIGITS;
    return BigInt(this.#shortDigits(start, middle)) * LOW_UNIT + BigInt(this.#shortDigits(middle, end));
  }

  #shortDigits(start: number, end: number): number {
    let size = 0;
    for (const byte of this.#bytes.subarray(start, end)) size = size * 10 + byte - BYTE.zero;
    return size;
  }

  #takeStatus(): string | undefined {
    if (!this.#take(BYTE.quote)) return undefined;
    const bytes = this.#bytes;
    const start = this.end;
    let end = start;
    while (isPlainCharacter(bytes[end])) end += 1;
    if (end - start > MAX_STATUS_LENGTH || bytes[end] !== BYTE.quote) return undefined;
    this.end = end + 1;
    return this.#text(start, end);
  }

  #text(start: number, end: number): string {
    for (const known of KNOWN_STATUSES) {
      if (known.bytes.length === end - start && hasAt(this.#bytes, start, known.bytes)) return known.text;
    }
    return String.fromCharCode(...this.#bytes.subarray(start, end));
  }
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function isDigit(byte: number | undefined): byte is number {
  return byte !== undefined && byte >= BYTE.zero && byte <= BYTE.nine;
}

/** Visible ASCII and the space, but what ends or escapes a string. */
function isPlainCharacter(byte: number | undefined): boolean {
  return byte !== undefined && byte >= BYTE.space && byte < BYTE.delete && byte !== BYTE.quote && byte !== BYTE.backslash;
}

function hasAt(bytes: Uint8Array, start: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index += 1) {
    if (bytes[start + index] !== expected[index]) return false;
  }
  return true;
}
