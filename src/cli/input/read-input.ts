import { csvRows } from './csv-rows.ts';
import { jsonRows, ndjsonRows } from './json-rows.ts';
import { type InputSource, inputName, inputText, peek } from './open-input.ts';
import type { InputRow } from './wanted-row.ts';

/**
 * Reads the rows of a file, or of stdin for `-`, in constant memory: a JSON array if the text begins with `[`, NDJSON if it begins with
 * `{`, else CSV.
 *
 * @throws UsageError with file and reason if the input cannot be read to its end
 */
export async function* readInput(path: string, source: InputSource): AsyncGenerator<InputRow> {
  const { head, whole } = await peek(inputText(path, source), (begun) => begun.trim() !== '');
  const start = head.trim().charAt(0);
  const name = inputName(path);
  if (start === '[') yield* jsonRows(whole, name);
  else if (start === '{') yield* ndjsonRows(whole, name);
  else if (start !== '') yield* csvRows(whole, name);
}
