import { type CommonOptions, connect } from '../connect.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { interruptSignal } from '../interrupt.ts';
import { jsonText } from '../json-text.ts';
import { type Terminal, writeResult } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

export interface SetArguments {
  petId: string;
  quantity: string;
}

/** Sets the quantity of one pet. */
export async function set(wanted: SetArguments, options: CommonOptions, terminal: Terminal): Promise<ExitCode> {
  const petId = BigInt(digits('petId', wanted.petId));
  const quantity = quantityOf(wanted.quantity);
  const { client, close } = await connect(options, terminal);
  const { signal, stopListening } = interruptSignal(terminal);
  try {
    const item = await client.updateInventory(petId, { quantity }, { signal });
    await writeResult(terminal.stdout, options.json ? `${jsonText(item)}\n` : `pet ${item.petId}: ${item.quantity} (${item.status})\n`);
  } finally {
    stopListening();
    close();
  }
  return EXIT.done;
}

function quantityOf(text: string): number {
  const quantity = Number(digits('quantity', text));
  if (Number.isSafeInteger(quantity)) return quantity;
  throw new UsageError(`Cannot use ${text.slice(0, 40)} as quantity: it is beyond ±(2^53−1)`);
}

function digits(name: string, text: string): string {
  if (/^-?\d{1,400}$/.test(text)) return text;
  throw new UsageError(`Cannot use ${JSON.stringify(text.slice(0, 40))} as ${name}: it must be an integer`);
}
