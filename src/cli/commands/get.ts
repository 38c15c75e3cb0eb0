import { NotFoundError } from '../../errors.ts';
import { StockView } from '../../view/index.ts';
import { type CommonOptions, connect } from '../connect.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { petIdOf } from '../option-values.ts';
import { itemText } from '../stock-text.ts';
import { type Terminal, writeResult } from '../terminal.ts';

/** Writes the stock of one pet. The service has no request for a single pet, so this costs a list. */
export async function get(wanted: string, options: CommonOptions, terminal: Terminal): Promise<ExitCode> {
  const petId = petIdOf(wanted);
  const { client, signal, close } = await connect(options, terminal);
  try {
    const item = await new StockView(client).get(petId, { signal });
    if (!item) throw new NotFoundError(`Cannot get pet ${petId}: the list of the stock has no such pet`, { petId });
    await writeResult(terminal.stdout, itemText(item, options), { signal });
  } finally {
    close();
  }
  return EXIT.done;
}
