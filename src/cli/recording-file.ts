import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { PetStoreClient } from '../client.ts';
import { monotonicMs } from '../clock/monotonic.ts';
import { recordCalls } from '../record-calls.ts';
import { messageOf, textOf } from '../thrown.ts';
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
      writeWhole(file, Buffer.from(line));
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

/** How long the reader of a pipe may pause. The whole command stands still meanwhile, even if a signal tells it to end. */
const READER_PAUSE_MS = 1_000;
const LOOK_AGAIN_MS = 10;

function writeWhole(file: number, bytes: Buffer): void {
  const untilMs = monotonicMs() + READER_PAUSE_MS;
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(file, bytes, written);
    } catch (error) {
      if (textOf(error, 'code') !== 'EAGAIN' || monotonicMs() >= untilMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_AGAIN_MS);
    }
  }
}

const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;

/** Opens a new or empty file. One that is not empty is refused: it may be an earlier incident, or named by mistake. */
function open(path: string): number {
  let file: number;
  try {
    file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK);
  } catch (error) {
    throw cannotOpen('--record', { path, error });
  }
  if (fstatSync(file).size === 0) return file;
  closeSync(file);
  throw new UsageError(`Cannot use --record ${path}: the file is not empty; name a new one, so that nothing in it is lost`);
}
