import { closeSync, openSync, writeSync } from 'node:fs';
import { type CallRecording, recordCalls } from '../record-calls.ts';
import type { Client } from './connect.ts';
import { tell } from './tell.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';

/** Writes what the client does into a file, each line at once, so that a crash loses none. Gives what ends it. @throws UsageError */
export function recordInto(path: string, client: Client, terminal: Terminal): () => void {
  const file = open(path);
  let recording: CallRecording | undefined;
  const write = (line: string): void => {
    try {
      writeSync(file, line);
    } catch (error) {
      recording?.stop();
      tell(terminal, `petstore: Cannot write --record ${path}, which ends here: ${messageOf(error)}`);
    }
  };
  recording = recordCalls(client, { write, latest: 0 });
  return () => {
    recording?.stop();
    closeSync(file);
  };
}

function open(path: string): number {
  try {
    return openSync(path, 'w');
  } catch (error) {
    throw new UsageError(`Cannot use --record ${path}: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
