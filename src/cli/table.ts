import type { Paint } from './colour.ts';

const ID_WIDTH = 10;
const QUANTITY_WIDTH = 10;

const COLOURS = { available: 'green', pending: 'yellow', sold: 'dim' } as const;

export function tableHeader(paint: Paint): string {
  return `${paint('bold', `${'petId'.padStart(ID_WIDTH)}  ${'quantity'.padStart(QUANTITY_WIDTH)}  status`)}\n`;
}

/** Rows are written as they come, so the widths are fixed; a longer id moves its row to the right. */
export function tableRow({ petId, quantity, status }: { petId: bigint; quantity: number; status: string }, paint: Paint): string {
  const colour = Object.entries(COLOURS).find(([known]) => known === status)?.[1];
  // A status is the service's text: a control character in it could do things to the terminal.
  const shown = status.replace(/\p{Cc}/gu, '�');
  return `${String(petId).padStart(ID_WIDTH)}  ${String(quantity).padStart(QUANTITY_WIDTH)}  ${colour ? paint(colour, shown) : shown}\n`;
}
