import { closeSync, fstatSync, openSync, writeSync } from 'node:fs';
import type { PetStoreClient } from '../client.ts';
import { recordCalls } from '../record-calls.ts';
import { messageOf } from '../thrown.ts';
import { tell } from './tell.ts';
import type { Terminal } from './terminal.ts';
import { cannotOpen, UsageError } from './usage-error.ts';

/** Records a client's calls in a file, each line at once, so that a crash loses none. Returns what stops it. @throws UsageError */
export function recordInto(path: string, client: PetStoreClient<'bigint'>, terminal: Terminal): () => void {
  const file = open(path);
  let isOver = false;
  const write = (line: string): void => {
    if (isOver) return;
    try {
      writeSync(file, line);
    } catch (error) {
      isOver = true;
      tell(terminal, `petstore: Cannot write --record ${path}, so the recording ends here: ${messageOf(error)}`);
    }
  };
  const { stop } = recordCalls(client, { write, latest: 0 });
  return () => {
    stop();
    closeSync(file);
  };
}

/** Opens a new or empty file. One that is not empty is refused: it may be an earlier incident, or named by mistake. */
function open(path: string): number {
  let file: number;
  try {
    file = openSync(path, 'a');
  } catch (error) {
    throw cannotOpen('--record', { path, error });
  }
  if (fstatSync(file).size === 0) return file;
  closeSync(file);
  throw new UsageError(`Cannot use --record ${path}: the file is not empty; name a new one, so that nothing in it is lost`);
}
