import { type CommonOptions, connect } from '../connect.ts';
import { EXIT, type ExitCode, Interruption } from '../exit-code.ts';
import { petIdOf, quantityOf } from '../option-values.ts';
import { itemText } from '../stock-text.ts';
import { tell } from '../tell.ts';
import { type Terminal, writeResult } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

export interface SetOptions extends CommonOptions {
  allowNegative?: boolean;
}

/** Sets the quantity of one pet. An answer with another quantity is written too, but does not count as done. */
export async function set(wanted: { petId: string; quantity: string }, options: SetOptions, terminal: Terminal): Promise<ExitCode> {
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
    await writeResult(terminal.stdout, itemText(item, options), {
      signal,
      outcome: isDone ? `pet ${petId} was set to ${quantity}` : undefined,
    });
    return isDone ? EXIT.done : EXIT.partlyDone;
  } catch (error) {
    if (!isInDoubt || !(error instanceof Interruption)) throw error;
    throw new Interruption(`${error.message}: pet ${petId} may have been set to ${quantity}`, error.exitCode);
  } finally {
    close();
  }
}
