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

/** A row of an input: what it wants, or why it cannot be used and how it was written. */
export type InputRow = { row: number; entry: WantedEntry } | BadRow;

/** A row that cannot be used. */
export interface BadRow {
  row: number;
  entry?: undefined;
  reason: string;
  text: string;
}

/** The fields of a row as they were written: text, or what JSON made of it. An empty text or null counts as left out. */
export interface RowFields {
  petId?: unknown;
  quantity?: unknown;
  adjust?: unknown;
}

/** What a row wants, or why it cannot be used. */
export function wantedRow(fields: RowFields): WantedEntry | string {
  const hasQuantity = isGiven(fields.quantity);
  const hasAdjust = isGiven(fields.adjust);
  const problem =
    idProblem(fields.petId) ??
    (hasQuantity && hasAdjust ? 'it has both a quantity and an adjust; leave one out' : undefined) ??
    (hasQuantity || hasAdjust ? undefined : 'it has neither a quantity nor an adjust') ??
    (hasQuantity ? amountProblem('quantity', fields.quantity) : amountProblem('adjust', fields.adjust));
  if (problem !== undefined) return problem;
  const petId = petIdOf(fields.petId);
  return hasQuantity ? { petId, quantity: Number(fields.quantity) } : { petId, adjust: Number(fields.adjust) };
}

/** A row after which the input cannot be read on. */
export function badRow({ name, row }: Place, reason: string): UsageError {
  return new UsageError(`Cannot use ${name}, row ${row}: ${reason}`);
}

export function tooLong(place: Place): UsageError {
  return badRow(place, `it is longer than ${MAX_ROW.toLocaleString('en-US')} characters`);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function idProblem(value: unknown): string | undefined {
  if (!isGiven(value)) return 'it has no petId';
  if (!isInteger(value)) return `petId must be an integer, not ${shown(value)}${hint(value)}`;
  const petId = bigintOf(value);
  return BigInt.asIntN(64, petId) === petId ? undefined : `petId ${shown(value)} is beyond int64`;
}

function petIdOf(value: unknown): PetId {
  const rounded = Number(value);
  return Number.isSafeInteger(rounded) ? rounded : bigintOf(value);
}

/** BigInt reads no plus sign. */
function bigintOf(value: unknown): bigint {
  return BigInt(String(value).replace('+', ''));
}

function amountProblem(column: string, value: unknown): string | undefined {
  if (!isInteger(value)) return `${column} must be an integer, not ${shown(value)}${hint(value)}`;
  return Number.isSafeInteger(Number(value)) ? undefined : `${column} ${shown(value)} is beyond ±(2^53−1)`;
}

function isInteger(value: unknown): value is string | number {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value === 'string' && /^[+-]?\d{1,400}$/.test(value);
}

/** The characters of a number that is formatted for readers, such as 1.234,50. */
function hint(value: unknown): string {
  const text = String(value).trim();
  if (/^[+-]?\d{1,3}(?:[.,]\d{3})$/.test(text)) return ': write it without a thousands separator, or without decimals';
  if (/^[+-]?\d{1,3}(?:([.,'’ \u00a0\u202f])\d{3})(?:\1\d{3})*$/.test(text)) return ': write it without thousands separators';
  if (/^[+-]?\d+[.,]\d+$/.test(text)) return ': it has decimals';
  return /^[+-]?\d(?:\.\d+)?[eE][+-]?\d+$/.test(text) ? ': write all of its digits; a spreadsheet shows long numbers so' : '';
}

function shown(value: unknown): string {
  const text = typeof value === 'object' && value !== null ? 'an object' : (JSON.stringify(value) ?? String(value));
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
