import type { PetId } from '../../contract/models.ts';
import { isInt64 } from '../../contract/pet-id.ts';
import type { WantedEntry } from '../../sync/index.ts';
import { UsageError } from '../usage-error.ts';

/** The longest row, in characters. */
export const MAX_ROW = 65_536;

/** The input and number of a row. Rows are counted from 1, and a header counts as one. */
export interface Place {
  name: string;
  row: number;
}

/** A row of an input: its entry, or the reason why it is bad. */
export type InputRow = { row: number; entry: WantedEntry } | BadRow;

/** A row that cannot be used, with the reason and the row's text. */
export interface BadRow {
  row: number;
  entry?: undefined;
  reason: string;
  text: string;
}

/** The unchecked fields of a row: text from CSV, any value from JSON. An empty text or null counts as missing. */
export interface RowFields {
  petId?: unknown;
  quantity?: unknown;
  adjust?: unknown;
}

export const NO_ID = 'it has no petId';

/** Parses the fields of a row. Returns the entry, or the reason why the row is bad. */
export function wantedRow(fields: RowFields): WantedEntry | string {
  const hasQuantity = isGiven(fields.quantity);
  const hasAdjust = isGiven(fields.adjust);
  const problem =
    idProblem(fields.petId) ??
    (hasQuantity && hasAdjust ? 'it has both a quantity and an adjust; leave one out' : undefined) ??
    (hasQuantity || hasAdjust ? undefined : 'it has neither a quantity nor an adjust') ??
    (hasQuantity ? quantityProblem(fields.quantity) : amountProblem('adjust', fields.adjust));
  if (problem !== undefined) return problem;
  const petId = petIdOf(fields.petId);
  return hasQuantity ? { petId, quantity: Number(fields.quantity) } : { petId, adjust: Number(fields.adjust) };
}

/** The error for a row after which the rest of the input cannot be read. */
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
  if (!isGiven(value)) return NO_ID;
  if (!isInteger(value)) return `petId must be an integer, not ${shown(value)}${hint(value)}`;
  return isInt64(bigintOf(value)) ? undefined : `petId ${shown(value)} is beyond int64`;
}

function petIdOf(value: unknown): PetId {
  const rounded = Number(value);
  return Number.isSafeInteger(rounded) ? rounded : bigintOf(value);
}

/** `BigInt()` rejects a plus sign, so it is removed. */
function bigintOf(value: unknown): bigint {
  return BigInt(String(value).replace('+', ''));
}

/** `+5` means a change; taken for a quantity, it would replace the stock. */
function quantityProblem(value: unknown): string | undefined {
  const problem = amountProblem('quantity', value);
  if (problem === undefined && String(value).startsWith('+'))
    return `quantity ${shown(value)} has a plus sign: put a change into the column adjust`;
  return problem;
}

function amountProblem(column: string, value: unknown): string | undefined {
  if (!isInteger(value)) return `${column} must be an integer, not ${shown(value)}${hint(value)}`;
  return Number.isSafeInteger(Number(value)) ? undefined : `${column} ${shown(value)} is beyond ±(2^53−1)`;
}

function isInteger(value: unknown): value is string | number {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value === 'string' && /^[+-]?\d{1,400}$/.test(value);
}

/** How to correct a number that is written with separators, decimals or an exponent, such as 1.234,50. */
function hint(value: unknown): string {
  const text = String(value).trim();
  if (/^[+-]?\d{1,3}(?:[.,]\d{3})$/.test(text)) return ': write it without a thousands separator, or without decimals';
  if (/^[+-]?\d{1,3}(?:([.,'’ \u00a0\u2009\u202f])\d{3})(?:\1\d{3})*$/.test(text)) return ': write it without thousands separators';
  if (/^[+-]?\d+[.,]\d+$/.test(text)) return ': it has decimals';
  if (/^[+-]?\d(?:\.\d+)?[eE][+-]?\d+$/.test(text)) return ': write all of its digits; spreadsheets show long numbers in this form';
  return characterHint(String(value));
}

/** How to replace a character that looks like one of a number, or cannot be seen; empty if there is none. */
export function characterHint(text: string): string {
  const [sign] = /[\p{Pd}\u2212](?<!-)/u.exec(text) ?? [];
  if (sign) return `: write the minus as "-", not as ${codePoint(sign)}`;
  const [digit] = /[\p{N}\uff0b](?<![0-9])/u.exec(text) ?? [];
  return digit ? `: write it in 0 to 9, + and -, not with ${codePoint(digit)}` : invisibleHint(text);
}

/** The first space or invisible character that is none of ASCII's; empty if there is none. */
export function invisibleHint(text: string): string {
  const [character] = /[\p{Z}\p{C}](?<! )/u.exec(text) ?? [];
  return character ? `: remove the space or invisible character ${codePoint(character)}` : '';
}

function codePoint(character: string): string {
  return `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
}

function shown(value: unknown): string {
  const text = typeof value === 'object' ? 'an object' : JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
