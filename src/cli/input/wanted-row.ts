import type { PetId } from '../../contract/models.ts';
import type { WantedEntry } from '../../sync/index.ts';
import { UsageError } from '../usage-error.ts';

/** A row may be no longer than this, in characters. */
export const MAX_ROW = 65_536;

/** Where a row stands: rows are counted from 1, a header is one. */
export interface Place {
  name: string;
  row: number;
}

/** The fields of a row as they were written: text, or what JSON made of it. An empty text or null counts as left out. */
export interface RowFields {
  petId?: unknown;
  quantity?: unknown;
  adjust?: unknown;
}

/** @throws UsageError with file, row and reason */
export function wantedRow(fields: RowFields, place: Place): WantedEntry {
  const petId = petIdOf(fields.petId, place);
  const hasQuantity = isGiven(fields.quantity);
  const hasAdjust = isGiven(fields.adjust);
  if (hasQuantity && hasAdjust) throw badRow(place, 'it has both a quantity and an adjust; leave one out');
  if (hasQuantity) return { petId, quantity: integerOf('quantity', fields.quantity, place) };
  if (hasAdjust) return { petId, adjust: integerOf('adjust', fields.adjust, place) };
  throw badRow(place, 'it has neither a quantity nor an adjust');
}

export function badRow({ name, row }: Place, reason: string): UsageError {
  return new UsageError(`Cannot use ${name}, row ${row}: ${reason}`);
}

export function tooLong(place: Place): UsageError {
  return badRow(place, `it is longer than ${MAX_ROW.toLocaleString('en-US')} characters`);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function petIdOf(value: unknown, place: Place): PetId {
  if (!isGiven(value)) throw badRow(place, 'it has no petId');
  if (!isInteger(value)) throw badRow(place, `petId must be an integer, not ${shown(value)}`);
  // BigInt reads no plus sign.
  const petId = BigInt(String(value).replace('+', ''));
  if (BigInt.asIntN(64, petId) !== petId) throw badRow(place, `petId ${shown(value)} is beyond int64`);
  const rounded = Number(petId);
  return Number.isSafeInteger(rounded) ? rounded : petId;
}

function integerOf(column: string, value: unknown, place: Place): number {
  if (!isInteger(value)) throw badRow(place, `${column} must be an integer, not ${shown(value)}`);
  const amount = Number(value);
  if (!Number.isSafeInteger(amount)) throw badRow(place, `${column} ${shown(value)} is beyond ±(2^53−1)`);
  return amount;
}

function isInteger(value: unknown): value is string | number {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value === 'string' && /^[+-]?\d{1,400}$/.test(value);
}

function shown(value: unknown): string {
  const text = typeof value === 'object' && value !== null ? 'an object' : (JSON.stringify(value) ?? String(value));
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
