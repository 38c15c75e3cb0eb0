import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

/** Bytes of heap that are in use after everything that nobody needs is gone. */
export async function usedHeap(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    if (typeof collect === 'function') collect();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return process.memoryUsage().heapUsed;
}

/** What keeps the process from ending, apart from its own output; waits a little for what is about to go. */
export async function leftResources(): Promise<string[]> {
  for (let round = 0; round < 30 && resources().length > 0; round++) await new Promise((resolve) => setTimeout(resolve, 100));
  return resources();
}

function resources(): string[] {
  return process.getActiveResourcesInfo().filter((name) => !/^(?:PipeWrap|TTYWrap|FileHandle|FSReqPromise)$/.test(name));
}
