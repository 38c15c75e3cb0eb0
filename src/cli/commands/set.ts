import { type CommonOptions, connect } from '../connect.ts';
import { EXIT, type ExitCode, Interruption } from '../exit-code.ts';
import { jsonText } from '../json-text.ts';
import { petIdOf, quantityOf } from '../option-values.ts';
import { stockText } from '../stock-text.ts';
import { tell } from '../tell.ts';
import { type Terminal, writeResult } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

export interface SetArguments {
  petId: string;
  quantity: string;
}

export interface SetOptions extends CommonOptions {
  allowNegative?: boolean;
}

/** Sets the quantity of one pet. An answer with another quantity is written too, but does not count as done. */
export async function set(wanted: SetArguments, options: SetOptions, terminal: Terminal): Promise<ExitCode> {
  const petId = petIdOf(wanted.petId);
  const quantity = quantityOf('quantity', wanted.quantity);
  if (quantity < 0 && !options.allowNegative)
    throw new UsageError(
      `Cannot use ${quantity} as quantity: a stock below zero is probably a mistake; correct it, or allow it with --allow-negative`,
    );
  const { client, signal, close } = await connect(options, terminal);
  let isInDoubt = false;
  client.on('settled', ({ outcome }) => {
    isInDoubt = outcome === 'unknown';
  });
  try {
    const item = await client.updateInventory(petId, { quantity }, { signal });
    const isDone = item.quantity === quantity;
    if (!isDone)
      tell(
        terminal,
        `petstore: Cannot confirm the update of pet ${petId}: the service answered with the quantity ${item.quantity}, not ${quantity}`,
      );
    const text = options.json ? `${jsonText(item)}\n` : `pet ${item.petId}: ${stockText(item)}\n`;
    await writeResult(terminal.stdout, text, { signal, outcome: isDone ? `pet ${petId} was set to ${quantity}` : undefined });
    return isDone ? EXIT.done : EXIT.partlyDone;
  } catch (error) {
    if (!isInDoubt || !(error instanceof Interruption)) throw error;
    throw new Interruption(`${error.message}: pet ${petId} may have been set to ${quantity}`, error.exitCode);
  } finally {
    close();
  }
}
