import type { InventoryItem } from '../../contract/models.ts';
import { isPetStatus } from '../../contract/pet-status.ts';
import { type Paint, paintFor } from '../colour.ts';
import { type CommonOptions, connect } from '../connect.ts';
import { refuseGiven } from '../contradictions.ts';
import { csvLine } from '../csv-line.ts';
import { counted } from '../duration.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { jsonText } from '../json-text.ts';
import { NAMED_STATUSES, noSuchStatus, statusText } from '../stock-text.ts';
import { tell } from '../tell.ts';
import { type Terminal, writeText } from '../terminal.ts';

export interface ListOptions extends CommonOptions {
  csv?: boolean;
  status?: string;
}

type Item = InventoryItem<'bigint'>;

/** An output format: the text before the items, each item, and the text after them. */
interface Format {
  first: string;
  item(item: Item, index: number): string;
  last(count: number): string;
}

/** Writes the inventory as it arrives, in constant memory. */
export async function list(options: ListOptions, terminal: Terminal): Promise<ExitCode> {
  if (options.json) refuseGiven({ '--csv': options.csv }, 'with --json: the output has one format; leave one out');
  const { client, signal, close } = await connect(options, terminal);
  const format = formatOf(options, terminal);
  const statuses = new Set<string>();
  let count = 0;
  // Written with the first batch, so that a list which fails before it writes nothing.
  let { first } = format;
  try {
    for await (const batch of client.streamInventory({ signal }).batches()) {
      for (const { status } of batch) if (statuses.size < NAMED_STATUSES) statuses.add(status);
      const items = options.status === undefined ? batch : batch.filter(({ status }) => status === options.status);
      await writeText(terminal.stdout, `${first}${items.map((item, index) => format.item(item, count + index)).join('')}`, { signal });
      first = '';
      count += items.length;
    }
    await writeText(terminal.stdout, `${first}${format.last(count)}`, { signal });
  } finally {
    close();
  }
  if (terminal.stdout.isTTY && !options.json && !options.csv) tell(terminal, counted(count, 'pet'));
  if (count === 0 && options.status !== undefined && !isPetStatus(options.status))
    tell(terminal, `petstore: ${noSuchStatus(options.status, statuses)}`);
  return EXIT.done;
}

function formatOf({ json, csv }: ListOptions, terminal: Terminal): Format {
  if (json)
    return {
      first: '[',
      item: (item, index) => `${index > 0 ? ',' : ''}\n  ${jsonText(item)}`,
      last: (count) => (count > 0 ? '\n]\n' : ']\n'),
    };
  if (csv) {
    // A program gets the status as it is.
    const shown = terminal.stdout.isTTY ? statusText : (status: string) => status;
    return {
      first: 'petId,quantity,status\n',
      item: ({ petId, quantity, status }) => `${csvLine([String(petId), String(quantity), shown(status)])}\n`,
      last: () => '',
    };
  }
  const paint = paintFor(terminal.stdout, terminal);
  return { first: tableHeader(paint), item: (item) => tableRow(item, paint), last: () => '' };
}

const ID_WIDTH = 10;
const QUANTITY_WIDTH = 10;

const COLOURS = { available: 'green', pending: 'yellow', sold: 'dim' } as const;

function tableHeader(paint: Paint): string {
  return `${paint('bold', `${'petId'.padStart(ID_WIDTH)}  ${'quantity'.padStart(QUANTITY_WIDTH)}  status`)}\n`;
}

/** The widths are fixed, since rows are written as they arrive. A longer id shifts its row to the right. */
export function tableRow({ petId, quantity, status }: { petId: bigint; quantity: number; status: string }, paint: Paint): string {
  const colour = Object.entries(COLOURS).find(([known]) => known === status)?.[1];
  const shown = statusText(status);
  return `${String(petId).padStart(ID_WIDTH)}  ${String(quantity).padStart(QUANTITY_WIDTH)}  ${colour ? paint(colour, shown) : shown}\n`;
}
