import type { InventoryItem } from '../contract/models.ts';
import { PET_STATUSES } from '../contract/pet-status.ts';
import { showValue } from '../options/rules.ts';
import { withoutControls } from '../redactor.ts';
import { jsonText } from './json-text.ts';

/** A status at the terminal. The service chooses its text, and a control character in it could change the terminal. */
export function statusText(status: string): string {
  return withoutControls(status, '�');
}

/** The stock of a pet: `7 (sold)`. */
export function stockText({ quantity, status }: { quantity: number; status: string }): string {
  return `${quantity} (${statusText(status)})`;
}

/** A pet as the result of a command. */
export function itemText(item: InventoryItem<'bigint'>, { json }: { json?: boolean }): string {
  return json ? `${jsonText(item)}\n` : `pet ${item.petId}: ${stockText(item)}\n`;
}

/** Most statuses of a stock that a message names. */
export const NAMED_STATUSES = 10;

/** What to say of a status that the specification does not name and no pet has: it may be misspelt, but the service may add statuses. */
export function noSuchStatus(wanted: string, found: Iterable<string>): string {
  const known = [...new Set([...PET_STATUSES, ...found])].slice(0, NAMED_STATUSES).map(statusText);
  return `no pet has the status ${showValue(wanted)}; known are ${known.join(', ')}`;
}
