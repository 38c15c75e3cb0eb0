import type { InventoryItem } from '../../contract/models.ts';
import { isPetStatus } from '../../contract/pet-status.ts';
import { RateLimitError } from '../../errors.ts';
import { type StockChange, StockView } from '../../view/index.ts';
import { type CommonOptions, connect } from '../connect.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { messageLine } from '../explain-error.ts';
import { jsonText } from '../json-text.ts';
import { quantityOf } from '../option-values.ts';
import { noSuchStatus, stockText } from '../stock-text.ts';
import { tell } from '../tell.ts';
import { type Terminal, writeText } from '../terminal.ts';

export interface WatchOptions extends CommonOptions {
  status?: string;
  below?: string;
}

type Item = InventoryItem<'bigint'>;

/** How often to list if the plan has no limit, so that there is no half of a quota to keep to. */
const WITHOUT_LIMIT_MS = 1_000;

/** Writes a line for each change of a pet until it is interrupted. Lists as often as half of the key's quota allows. */
export async function watch(options: WatchOptions, terminal: Terminal): Promise<ExitCode> {
  const isWanted = filterOf(options);
  const { client, signal, close } = await connect(options, terminal);
  // The view waits for a closed key itself, so the client reports no wait.
  client.on('settled', ({ error }) => {
    if (error instanceof RateLimitError) tell(terminal, `petstore: ${messageLine(error.message)}; watching again then`);
  });
  const maxAgeMs = client.quota.minute.limit === undefined ? WITHOUT_LIMIT_MS : undefined;
  const view = new StockView(client);
  if (options.status !== undefined && !isPetStatus(options.status)) void tellMissing(view, { status: options.status, signal, terminal });
  try {
    for await (const change of view.changes({ signal, maxAgeMs })) {
      if (isWanted(change.after ?? change.before)) await writeText(terminal.stdout, lineOf(change, options), { signal });
    }
  } finally {
    close();
  }
  return EXIT.done;
}

interface Wanted {
  status: string;
  signal: AbortSignal;
  terminal: Terminal;
}

/** Prints that no pet has a status, once the first list is there. If that list fails, the iteration over the changes reports it. */
async function tellMissing(view: StockView<'bigint'>, { status, signal, terminal }: Wanted): Promise<void> {
  const items = await view.items({ signal }).catch(() => undefined);
  const found = new Set(Array.from(items ?? [], (item) => item.status));
  if (items && !found.has(status)) tell(terminal, `petstore: ${noSuchStatus(status, found)}`);
}

/** A filter for the new state of a pet, or for the last state of a pet that is gone. */
function filterOf({ status, below }: WatchOptions): (item: Item | undefined) => boolean {
  const limit = below === undefined ? Number.POSITIVE_INFINITY : quantityOf('--below', below);
  return (item) => item !== undefined && item.quantity < limit && (status === undefined || item.status === status);
}

function lineOf(change: StockChange<'bigint'>, { json }: WatchOptions): string {
  if (json) return `${jsonText(change)}\n`;
  const { petId, before, after } = change;
  return `pet ${petId}: ${before ? stockText(before) : 'new'} -> ${after ? stockText(after) : 'gone'}\n`;
}
