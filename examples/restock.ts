// Restocks from a CSV file every night: restock.ts <file>
//
// Exit codes: 0 done, 1 failed, 2 a missing or bad file, 4 some pets failed or are missing, 75 not finished: run it again to continue. The
// journal is in the folder of the file and named after it, so name the file after its day. These lines of a crontab keep the output. After
// a power cut the job continues, and nothing that is already done is sent again:
//
//     10 2 * * *    cd /srv/shop && node restock.ts stock-$(date +\%F).csv >> restock.log 2>&1
//     @reboot       cd /srv/shop && for file in stock-*.csv; do node restock.ts $file; done >> restock.log 2>&1
import { open } from 'node:fs/promises';
import { isRetryable, PetStoreClient, type SyncReport, syncInventory, type WantedEntry } from 'petstore-inventory';
import { fileJournal } from 'petstore-inventory/node';

class BadInput extends Error {}

const [file] = process.argv.slice(2);

try {
  if (!file) throw new BadInput('usage: restock.ts <file>');
  process.exitCode = tell(file, await restock(file));
} catch (error) {
  // Without the stack, since the log is for people.
  console.error(`restock: ${error instanceof Error ? error.message : error}`);
  process.exitCode = error instanceof BadInput ? 2 : 1;
}

async function restock(path: string): Promise<SyncReport> {
  // Without `int64`, one id beyond 2^53 in the service's list would end the job.
  const petstore = new PetStoreClient({ int64: 'bigint' });
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  // Without the journal, a second run would apply the adjustments again.
  return syncInventory(petstore, rowsOf(path), { journal: fileJournal(`${path}.journal`), signal: stop.signal });
}

/** Prints the report, and returns the exit code. */
function tell(path: string, { updated, unchanged, pending, missing, failed, stopped }: SyncReport): number {
  console.log(`${path}: ${updated} updated, ${unchanged} unchanged, ${pending.length} pending`);
  for (const petId of missing) console.log(`pet ${petId} is missing in the service's list`);
  for (const { petId, error } of failed) console.log(`pet ${petId} failed: ${error.message}`);
  if (stopped) console.log(`stopped by ${stopped}: run it again to continue`);
  if (stopped || failed.some(({ error }) => isRetryable(error))) return 75;
  return failed.length + missing.length > 0 ? 4 : 0;
}

/** The rows of a file for `petstore sync`: `1,5` or `1,5,` for a quantity, and `1,,+5` or `1,,-5` for an adjustment of pet 1. */
async function* rowsOf(path: string): AsyncGenerator<WantedEntry> {
  let row = 0;
  let columns = 0;
  let isEmpty = true;
  const input = await open(path).catch(({ message }) => {
    throw new BadInput(message);
  });
  for await (const line of input.readLines()) {
    row += 1;
    if (row === 1 && !/^\uFEFF?petId,quantity(,adjust)?$/i.test(line.trimEnd()))
      throw new BadInput(`${path}, row 1: expected the header petId,quantity or petId,quantity,adjust`);
    if (row === 1) columns = line.split(',').length;
    if (row === 1 || line.trim() === '') continue;
    if (line.split(',').length > columns) throw new BadInput(`${path}, row ${row}: it has more fields than the header`);
    const [, digits, quantity, adjust] = /^(\d{1,19}),(?:(\d{1,15}),?|,([+-]?\d{1,15}))$/.exec(line.trim()) ?? [];
    if (digits === undefined)
      throw new BadInput(`${path}, row ${row}: expected petId, and quantity or adjust, not ${JSON.stringify(line)}`);
    // BigInt keeps every digit of an int64.
    const petId = BigInt(digits);
    isEmpty = false;
    yield adjust === undefined ? { petId, quantity: Number(quantity) } : { petId, adjust: Number(adjust) };
  }
  if (isEmpty) throw new BadInput(`${path}: it has no rows`);
}
