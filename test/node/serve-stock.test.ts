import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { serveSandbox } from 'petstore-inventory/node';
import { expect, onTestFinished, test, vi } from 'vitest';
import { started } from './served.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'petstore-stock-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('`db` keeps the stock from one run to the next, every digit of it', async () => {
  const db = join(folder(), 'inventory.sqlite');
  const first = await serveSandbox({
    db,
    pets: [
      { petId: -9_223_372_036_854_775_808n, quantity: 1 },
      { petId: 9_223_372_036_854_775_807n, quantity: 2 },
    ],
  });
  first.sandbox.inventory.set(5, { quantity: 3, status: 'sold' });
  first.sandbox.inventory.delete(-9_223_372_036_854_775_808n);
  await first.close();
  const again = await started({ db, pets: 100 });
  expect([...again.sandbox.inventory]).toEqual([
    { petId: 5n, quantity: 3, status: 'sold' },
    { petId: 9_223_372_036_854_775_807n, quantity: 2, status: 'available' },
  ]);
  expect(again.sandbox.inventory.size).toBe(2);
});

test.each([':memory:', 'file:stock.db?mode=memory'])('`db` keeps the stock in the file %s, which SQLite would not open', async (db) => {
  const path = folder();
  const cwd = vi.spyOn(process, 'cwd').mockReturnValue(path);
  onTestFinished(() => cwd.mockRestore());
  const first = await serveSandbox({ db, pets: 1 });
  await first.close();
  expect((await started({ db })).sandbox.inventory.size).toBe(1);
  expect(readdirSync(path)).toContain(db);
});

test('`db` keeps an empty stock empty, and the pets in a file of an earlier version', async () => {
  const db = join(folder(), 'inventory.sqlite');
  const first = await serveSandbox({ db, pets: 1 });
  first.sandbox.inventory.delete(1);
  await first.close();
  const again = await serveSandbox({ db });
  expect(again.sandbox.inventory.size).toBe(0);
  again.sandbox.inventory.set(5, { quantity: 3 });
  await again.close();
  const file = new DatabaseSync(db);
  file.exec('PRAGMA user_version = 0');
  file.close();
  const { sandbox } = await started({ db });
  expect([...sandbox.inventory].map(({ petId }) => petId)).toEqual([5n]);
});

test('a list from a file is complete even if it has several pages, and may be left halfway', async () => {
  const served = await started({ db: join(folder(), 'many.sqlite'), pets: 2_500 });
  const { inventory } = served.sandbox;
  expect(inventory.values().next().value?.petId).toBe(1n);
  expect([...inventory].map(({ petId }) => petId)).toEqual(Array.from({ length: 2_500 }, (_, index) => BigInt(index + 1)));
  expect([inventory.delete(2_500), inventory.delete(2_500), inventory.size]).toEqual([true, false, 2_499]);
});

test('a file of another program is refused and left unchanged', async () => {
  const db = join(folder(), 'theirs.sqlite');
  const theirs = new DatabaseSync(db);
  theirs.exec('CREATE TABLE orders (id INTEGER)');
  theirs.close();
  await expect(serveSandbox({ db })).rejects.toThrow(`Cannot use "${db.slice(0, 60)}`);
  await expect(serveSandbox({ db })).rejects.toThrow('it belongs to another program; name another file');
});

test('a file that is not a database, or a path that cannot hold one, is refused', async () => {
  const path = folder();
  writeFileSync(join(path, 'note.txt'), 'no database at all, but long enough to be read as the head of one: '.repeat(20));
  await expect(serveSandbox({ db: join(path, 'note.txt') })).rejects.toThrow('it is not a database; name another file');
  await expect(serveSandbox({ db: join(path, 'no', 'folder') })).rejects.toThrow(
    'it cannot be opened; check the folder, the permissions and the limit of open files',
  );
});

test('a file that another sandbox has open is refused', async () => {
  const db = join(folder(), 'inventory.sqlite');
  await started({ db });
  await expect(serveSandbox({ db })).rejects.toThrow('another process uses it; end that process or name another file');
});

test('two files that are opened at once leave `process.emitWarning` as it was', async () => {
  const { emitWarning } = process;
  await Promise.all([started({ db: join(folder(), 'a.sqlite') }), started({ db: join(folder(), 'b.sqlite') })]);
  expect(process.emitWarning).toBe(emitWarning);
});

test('reset() empties the file and puts the pets of the options there', async () => {
  const db = join(folder(), 'inventory.sqlite');
  const first = await serveSandbox({ db, pets: 2 });
  await first.close();
  const again = await serveSandbox({ db, pets: [{ petId: 7, quantity: 1 }] });
  expect(again.sandbox.inventory.size).toBe(2);
  again.sandbox.reset();
  await again.close();
  const { sandbox } = await started({ db });
  expect([...sandbox.inventory]).toEqual([{ petId: 7n, quantity: 1, status: 'available' }]);
});
