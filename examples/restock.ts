// Restocks from a CSV file every night: restock.ts <file> [folder of the journals]
//
// As a line of a crontab, with the output kept; it starts again what a power cut ended, because the journal is named after the day:
//
//     10 2 * * *    cd /srv/shop && node restock.ts tonight.csv journals >> restock.log 2>&1
//     @reboot       cd /srv/shop && node restock.ts tonight.csv journals >> restock.log 2>&1
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PetStoreClient, syncInventory, type WantedEntry } from 'petstore-inventory';
import { fileJournal } from 'petstore-inventory/node';
import { service } from './service.ts';

const [file, folder = '.'] = process.argv.slice(2);
if (!file) throw new Error('usage: restock.ts <file> [folder of the journals]');

const petstore = new PetStoreClient(service());
const day = new Date().toISOString().slice(0, 10);
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());

const report = await syncInventory(petstore, rowsOf(file), {
  journal: fileJournal(join(folder, `restock-${day}.journal`)),
  signal: stop.signal,
});

console.log(`${day}: ${report.updated} updated, ${report.unchanged} unchanged, ${report.pending.length} pending`);
for (const petId of report.missing) console.log(`pet ${petId} is missing in the service's list`);
for (const { petId, error } of report.failed) console.log(`pet ${petId} failed: ${error.message}`);
if (report.stopped) console.log(`stopped by ${report.stopped}: run it again to go on`);
if (report.stopped || report.failed.length > 0) process.exitCode = 1;

/** Rows are `petId,5` for a quantity and `petId,+5` or `petId,-5` for an adjustment, below a header. */
async function* rowsOf(path: string): AsyncGenerator<WantedEntry> {
  let row = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    row += 1;
    if (row === 1 || line.trim() === '') continue;
    const [, digits, sign, amount] = /^(\d{1,19}),([+-]?)(\d{1,15})$/.exec(line.trim()) ?? [];
    if (digits === undefined) throw new Error(`${path}, row ${row}: expected petId and quantity, not ${JSON.stringify(line)}`);
    // BigInt keeps every digit of an int64.
    const petId = BigInt(digits);
    yield sign ? { petId, adjust: Number(`${sign}${amount}`) } : { petId, quantity: Number(amount) };
  }
}
