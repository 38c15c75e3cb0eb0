import type { Int64, InventoryItem } from '../contract/models.ts';
import { PET_STATUSES } from '../contract/pet-status.ts';
import { BYTE } from './bytes.ts';
import type { PADDING_BYTES } from './pending-bytes.ts';
import { type ItemId, isSafeInteger, type ReadPetId, readPetId } from './pet-id.ts';
import { Phrase } from './phrase.ts';

const BEFORE_PET_ID = new Phrase('{"petId":');
const BEFORE_QUANTITY = new Phrase(',"quantity":');
const BEFORE_STATUS = new Phrase(',"status":"');
const KNOWN_STATUSES = PET_STATUSES.map((status) => ({ status, written: new Phrase(`,"status":"${status}"}`) }));

/** A longer status is left to `AnyItems`, since `String.fromCharCode` with too many arguments could overflow the stack. */
const MAX_STATUS_LENGTH = 64;

/** Stands for no number; digits never have this value. */
const NO_NUMBER = -1;

/** The most digits of an int64, and the length of its lower part, which is read separately so that a double holds each part exactly. */
const MAX_DIGITS = 19;
const LOW_DIGITS = 9;
const LOW_UNIT = 10n ** 9n;

/**
 * Reads items directly from bytes, if they have the plain form that `JSON.stringify` writes: petId, quantity, status in this order, no
 * other field, no white space, integers in digits, and a status in printable ASCII without escapes.
 *
 * This is several times as fast as decoding and `JSON.parse`. An item of any other form, valid or not, is left to {@link AnyItems}.
 */
export class PlainItems<Ids extends Int64> {
  /** The index after the item that was read last. */
  end = 0;
  #at = 0;
  #bytes = new Uint8Array();
  #view = new DataView(this.#bytes.buffer);
  readonly #readPetId: ReadPetId<Ids>;

  constructor(int64: Ids) {
    this.#readPetId = readPetId[int64];
  }

  /** Sets the bytes of the items, followed by {@link PADDING_BYTES} zeros. */
  look(padded: Uint8Array<ArrayBuffer>): void {
    this.#bytes = padded;
    this.#view = new DataView(padded.buffer, padded.byteOffset, padded.byteLength);
  }

  /** Adds the items from `start` on to `items`, up to the first one that is not of the plain form or begins after `lastClose`. */
  read(items: InventoryItem<Ids>[], { start, lastClose }: { start: number; lastClose: number }): void {
    this.#at = start;
    while (this.#at < lastClose) {
      const item = this.#takeItem();
      if (item === undefined) return;
      items.push(item);
      this.end = this.#at;
      if (this.#bytes[this.#at] !== BYTE.comma) return;
      this.#at += 1;
    }
  }

  #takeItem(): InventoryItem<Ids> | undefined {
    if (!this.#take(BEFORE_PET_ID)) return undefined;
    const petId = this.#takePetId();
    if (petId === undefined || !this.#take(BEFORE_QUANTITY)) return undefined;
    const quantity = this.#takeQuantity();
    if (quantity === undefined) return undefined;
    const status = this.#takeStatus();
    return status === undefined ? undefined : { petId, quantity, status };
  }

  #take(phrase: Phrase): boolean {
    if (!phrase.isAt(this.#view, this.#at)) return false;
    this.#at += phrase.length;
    return true;
  }

  #takePetId(): ItemId<Ids> | undefined {
    const isNegative = this.#takeMinus();
    const start = this.#at;
    const size = this.#takeDigits();
    const length = this.#at - start;
    if (size === NO_NUMBER || length > MAX_DIGITS) return undefined;
    if (isSafeInteger(size)) return this.#readPetId(isNegative ? 0 - size : size);
    const exact = this.#exactDigits(start, this.#at);
    return this.#readPetId(isNegative ? -exact : exact);
  }

  #takeQuantity(): number | undefined {
    const isNegative = this.#takeMinus();
    const size = this.#takeDigits();
    if (size === NO_NUMBER || !isSafeInteger(size)) return undefined;
    return isNegative ? 0 - size : size;
  }

  #takeMinus(): boolean {
    if (this.#bytes[this.#at] !== BYTE.minus) return false;
    this.#at += 1;
    return true;
  }

  /** The value of the digits as a double, not exact beyond 2^53; {@link NO_NUMBER} if they are not a valid JSON number. */
  #takeDigits(): number {
    const bytes = this.#bytes;
    const start = this.#at;
    let at = start;
    let size = 0;
    for (let byte = bytes[at]; isDigit(byte); byte = bytes[at]) {
      // The digit first: with the byte, the sum may pass 2^53 and be rounded before the difference comes back below it.
      size = size * 10 + (byte - BYTE.zero);
      at += 1;
    }
    this.#at = at;
    const length = at - start;
    const hasLeadingZero = length > 1 && bytes[start] === BYTE.zero;
    return length === 0 || hasLeadingZero ? NO_NUMBER : size;
  }

  #exactDigits(start: number, end: number): bigint {
    const middle = end - LOW_DIGITS;
    // 19 digits fit into 64 bits; with `asUintN` the engine needs no larger numbers in between.
    return BigInt.asUintN(64, BigInt(this.#shortDigits(start, middle)) * LOW_UNIT + BigInt(this.#shortDigits(middle, end)));
  }

  #shortDigits(start: number, end: number): number {
    let size = 0;
    for (let at = start; at < end; at += 1) size = size * 10 + ((this.#bytes[at] ?? 0) - BYTE.zero);
    return size;
  }

  #takeStatus(): string | undefined {
    for (const { status, written } of KNOWN_STATUSES) {
      if (this.#take(written)) return status;
    }
    return this.#takeOtherStatus();
  }

  #takeOtherStatus(): string | undefined {
    if (!this.#take(BEFORE_STATUS)) return undefined;
    const bytes = this.#bytes;
    const start = this.#at;
    let end = start;
    while (isPlainCharacter(bytes[end])) end += 1;
    if (end - start > MAX_STATUS_LENGTH || bytes[end] !== BYTE.quote || bytes[end + 1] !== BYTE.closeObject) return undefined;
    this.#at = end + 2;
    return String.fromCharCode(...bytes.subarray(start, end));
  }
}

function isDigit(byte: number | undefined): byte is number {
  return byte !== undefined && byte >= BYTE.zero && byte <= BYTE.nine;
}

/** Printable ASCII, except for the characters that end or escape a string. */
function isPlainCharacter(byte: number | undefined): boolean {
  return byte !== undefined && byte >= BYTE.space && byte < BYTE.delete && byte !== BYTE.quote && byte !== BYTE.backslash;
}
