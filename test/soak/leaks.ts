import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

/** Bytes of heap in use after garbage collection. */
export async function usedHeap(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    if (typeof collect === 'function') collect();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return process.memoryUsage().heapUsed;
}

/** What keeps the process alive, apart from its own output; waits a little for handles that are about to close. */
export async function leftResources(): Promise<string[]> {
  for (let round = 0; round < 30 && resources().length > 0; round++) await new Promise((resolve) => setTimeout(resolve, 100));
  return resources();
}

function resources(): string[] {
  return process.getActiveResourcesInfo().filter((name) => !/^(?:PipeWrap|TTYWrap|FileHandle|FSReqPromise)$/.test(name));
}
