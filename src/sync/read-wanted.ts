import { isPetId } from '../contract/pet-id.ts';
import { InvalidArgumentError } from '../errors.ts';
import { hidingKey } from '../hiding-key.ts';
import { petIdRule, showValue } from '../options/rules.ts';
import { isRecord } from '../thrown.ts';
import { itemsUntilAborted } from './items-until-aborted.ts';
import { type WantedEntry, WantedStock } from './wanted-stock.ts';

/**
 * Any number of wanted entries. A lazy source is asked for one entry at a time.
 *
 * @example
 * async function* rows(): AsyncGenerator<WantedEntry> {
 *   yield { petId: 1, quantity: 40 };
 *   yield { petId: 2, adjust: -1 };
 * }
 * const wanted: Wanted = rows();
 * console.log((await syncInventory(petstore, wanted)).updated); // → 2
 */
export type Wanted = Iterable<WantedEntry> | AsyncIterable<WantedEntry>;

/**
 * Reads all entries.
 *
 * @throws InvalidArgumentError for the first bad entry, with its number, counted from 1; the reason of an abort that comes before the end
 *   of an asynchronous source, since that may never end.
 */
export async function readWanted(
  wanted: Wanted,
  { client, signal }: { client: object; signal: AbortSignal | undefined },
): Promise<WantedStock> {
  hidingKey(client, () => checkIterable(wanted));
  const stock = new WantedStock();
  let entryNumber = 0;
  const take = (entry: unknown): void => hidingKey(client, () => addChecked(stock, entry, ++entryNumber));
  if (Symbol.asyncIterator in wanted) for await (const entry of itemsUntilAborted(wanted, signal)) take(entry);
  else for (const entry of wanted) take(entry);
  return stock;
}

function addChecked(stock: WantedStock, entry: unknown, entryNumber: number): void {
  if (!isWantedEntry(entry)) throw badEntry(entryNumber, problemOf(entry));
  if (!Number.isSafeInteger(stock.add(entry))) throw badEntry(entryNumber, 'the adjustments of its pet add up to more than ±(2^53−1)');
}

function badEntry(entryNumber: number, problem: string): InvalidArgumentError {
  return new InvalidArgumentError(`Cannot use entry ${entryNumber} of \`wanted\`: ${problem}`, { argument: 'wanted' });
}

function isWantedEntry(entry: unknown): entry is WantedEntry {
  if (!isRecord(entry) || !isPetId(entry.petId)) return false;
  const { quantity, adjust } = entry;
  return quantity === undefined ? Number.isSafeInteger(adjust) : adjust === undefined && Number.isSafeInteger(quantity);
}

function problemOf(entry: unknown): string {
  if (!isRecord(entry)) return `it must be an object with petId and quantity or adjust, not ${showValue(entry)}`;
  const { petId, quantity, adjust } = entry;
  if (!isPetId(petId)) return `petId must be ${petIdRule(petId)}, not ${showValue(petId)}`;
  if (quantity === undefined && adjust === undefined) return 'it needs a quantity or an adjust';
  if (quantity !== undefined && adjust !== undefined)
    return `it has both a quantity (${showValue(quantity)}) and an adjust (${showValue(adjust)}): leave one out`;
  const [name, value] = quantity === undefined ? ['adjust', adjust] : ['quantity', quantity];
  return `${name} must be an integer within ±(2^53−1), not ${showValue(value)}`;
}

function checkIterable(wanted: unknown): void {
  if (typeof wanted === 'object' && wanted !== null && (Symbol.asyncIterator in wanted || Symbol.iterator in wanted)) return;
  const message = `Cannot use ${showValue(wanted)} as \`wanted\`: it must be a list or another iterable of { petId, quantity }`;
  throw new InvalidArgumentError(message, { argument: 'wanted' });
}
