import type { WantedEntry } from '../../sync/index.ts';
import type { Terminal } from '../terminal.ts';
import { csvRows } from './csv-rows.ts';
import { jsonRows, ndjsonRows } from './json-rows.ts';
import { inputName, inputText } from './open-input.ts';

/**
 * Reads the wanted entries of a file, or of stdin for `-`, in constant memory: a JSON array where the text begins with `[`,
 * NDJSON where it begins with `{`, else CSV.
 *
 * @throws UsageError with file, row and reason
 */
export async function* readInput(path: string, terminal: Terminal): AsyncGenerator<WantedEntry> {
  const text = inputText(path, terminal);
  const { start, whole } = await peek(text);
  const name = inputName(path);
  if (start === '[') yield* jsonRows(whole, name);
  else if (start === '{') yield* ndjsonRows(whole, name);
  else yield* csvRows(whole, name);
}

/** The first character that is no white space, and the text with it still in place. */
async function peek(text: AsyncGenerator<string>): Promise<{ start: string; whole: AsyncIterable<string> }> {
  let head = '';
  while (head.trim() === '') {
    const next = await text.next();
    if (next.done) break;
    // Only white space so far, and line breaks count as rows.
    head += next.value;
  }
  return { start: head.trim().charAt(0), whole: concat(head, text) };
}

async function* concat(head: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  try {
    yield head;
    yield* rest;
  } finally {
    // A reader that stopped at the head has not told the rest.
    await rest.return(undefined);
  }
}
