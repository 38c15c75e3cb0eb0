import type { FileHandle } from 'node:fs/promises';
import { JournalError } from '../sync/journal.ts';

/** No record is longer, so a longer line belongs to another file, and is not read into memory. */
const MAX_LINE_BYTES = 1_048_576;

const CHUNK_BYTES = 65_536;
const NEWLINE = 0x0a;

/** Reads a file line by line from its beginning. The last line may be torn. The handle stays open. */
export async function* journalLines(handle: FileHandle, path: string): AsyncGenerator<string> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let rest = Buffer.alloc(0);
  let lineNumber = 1;
  for (let position = 0; ; ) {
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      yield bytes.toString('utf8', start, end);
      start = end + 1;
      lineNumber += 1;
    }
    rest = bytes.subarray(start);
    if (rest.length > MAX_LINE_BYTES) throw tooLong(path, lineNumber);
  }
  if (rest.length > 0) yield rest.toString();
}

function tooLong(path: string, lineNumber: number): JournalError {
  return new JournalError(`Cannot read journal ${path}: line ${lineNumber} is longer than 1 MiB, so it is not a record`, {
    code: 'journal_unreadable',
  });
}
