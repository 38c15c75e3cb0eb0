import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextTurn } from './unhandled.ts';

/** Twice, with a turn between: what a WeakRef was made of in this turn is kept until it ends. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  await nextTurn();
  collect();
  await nextTurn();
  collect();
}
