import { expect, test, vi } from 'vitest';
import { JobLog } from '../../src/sync/job-log.ts';
import { deferred } from '../support/deferred.ts';
import { nextTurn } from '../support/unhandled.ts';
import { MemoryJournal } from './support/memory-journal.ts';

const missing = (count: number) => Array.from({ length: count }, (_, petId) => ({ type: 'missing' as const, petId }));

test('JobLog appends the next thousand records only when those before are on disk', async () => {
  const journal = new MemoryJournal();
  const disk = deferred<void>();
  const append = vi.spyOn(journal, 'append').mockReturnValueOnce(disk.promise);
  const recording = new JobLog(journal).recordAll(missing(2_500));
  await nextTurn();
  expect(append).toHaveBeenCalledOnce();
  disk.resolve();
  await recording;
  expect(append.mock.calls.map(([lines]) => lines.length)).toEqual([1_000, 1_000, 500]);
});

test('JobLog keeps a note for the next intent', async () => {
  const journal = new MemoryJournal();
  const log = new JobLog(journal);
  log.note({ type: 'done', petId: 2 });
  expect(journal.lines).toEqual([]);
  await log.record({ type: 'intent', petId: 1, from: 5, to: 6 });
  expect(journal.portions).toEqual([2]);
});

test('JobLog appends nothing if there is nothing to append', async () => {
  const journal = new MemoryJournal();
  const log = new JobLog(journal);
  await log.recordAll([]);
  expect(journal.portions).toEqual([]);
});
