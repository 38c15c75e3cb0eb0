import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextTurn } from './unhandled.ts';

setFlagsFromString('--expose-gc');
/** Each context that is made takes as long as a collection. */
const collect: () => void = runInNewContext('gc');

/** Collects garbage twice, with a turn of the event loop between, since the target of a new WeakRef is kept until its turn ends. */
export async function collectGarbage(): Promise<void> {
  await nextTurn();
  collect();
  await nextTurn();
  collect();
}
