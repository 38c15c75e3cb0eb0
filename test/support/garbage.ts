import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextTurn } from './unhandled.ts';

/** Collects garbage twice, with a turn of the event loop between, since the target of a new WeakRef is kept until its turn ends. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  await nextTurn();
  collect();
  await nextTurn();
  collect();
}
