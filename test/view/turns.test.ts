import { expect, test } from 'vitest';
import { Turns } from '../../src/view/turns.ts';
import { deferred } from '../support/deferred.ts';
import { soFar } from '../support/outcome.ts';

const { signal } = new AbortController();

test('Turns lets a task wait for the one under way, even if an earlier one of the pet has ended', async () => {
  const turns = new Turns();
  const [first, second] = [deferred<void>(), deferred<void>()];
  const log: string[] = [];
  const run = (name: string, work: Promise<void>) => turns.run(1, signal, () => work.then(() => void log.push(name)));
  const runs = [run('first', first.promise), run('second', second.promise)];
  first.resolve();
  await runs[0];
  await soFar(second.promise);
  runs.push(run('third', Promise.resolve()));
  expect(await soFar(runs[2] ?? first.promise)).toBe('pending');
  second.resolve();
  await Promise.all(runs);
  expect(log).toEqual(['first', 'second', 'third']);
});
