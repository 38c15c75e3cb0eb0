import { isRecord } from '../../thrown.ts';
import { JsonElements } from './json-elements.ts';
import { badRow, type InputRow, MAX_ROW, NO_ID, type Place, tooLong, wantedRow } from './wanted-row.ts';

/** A number with so many digits, or so small, that JSON.parse may round it to another integer. */
const MAY_BE_ROUNDED = /("(?:petId|quantity|adjust)"\s*:\s*)(-?\d[\d.eE+-]{15,}|-?[\d.]+[eE]-\d+)(?=\s*[,}])/g;

const NOT_JSON = 'it is not valid JSON';

/** Reads a JSON array of objects. Each element is a row. */
export async function* jsonRows(text: AsyncIterable<string>, name: string): AsyncGenerator<InputRow> {
  const elements = new JsonElements();
  let row = 0;
  for await (const chunk of text) {
    for (const element of elements.push(chunk)) {
      row += 1;
      if (row > 1 || element.trim() !== '' || !elements.isComplete) yield parseRow(element, { name, row });
    }
    if (elements.rest.length > MAX_ROW) throw tooLong({ name, row: row + 1 });
  }
  if (!elements.isComplete) throw badRow({ name, row: row + 1 }, 'the array is not closed, or something comes after it');
}

/** Reads NDJSON. Each line is a row; empty lines are counted but skipped. */
export async function* ndjsonRows(text: AsyncIterable<string>, name: string): AsyncGenerator<InputRow> {
  let rest = '';
  let row = 0;
  for await (const chunk of text) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      row += 1;
      if (line.trim() !== '') yield parseLine(line, { name, row });
    }
    if (rest.length > MAX_ROW) throw tooLong({ name, row: row + 1 });
  }
  if (rest.trim() !== '') yield parseLine(rest, { name, row: row + 1 });
}

/** An object that spans several lines, or has the list in one of its fields, is a common mistake. */
function parseLine(line: string, place: Place): InputRow {
  const parsed = parseRow(line, place);
  if (parsed.entry || !(parsed.reason === NOT_JSON || (parsed.reason === NO_ID && line.includes('[')))) return parsed;
  return { ...parsed, reason: `${parsed.reason}; write a JSON array, or each object on one line` };
}

function parseRow(text: string, place: Place): InputRow {
  if (text.length > MAX_ROW) throw tooLong(place);
  const value = parseJson(text.replace(MAY_BE_ROUNDED, '$1"$2"'));
  const entry = isRecord(value) ? wantedRow(value) : problemOf(value);
  return typeof entry === 'string' ? { row: place.row, reason: entry, text: text.trim() } : { row: place.row, entry };
}

function problemOf(value: unknown): string {
  return value === undefined ? NOT_JSON : 'it must be an object with petId and quantity or adjust';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
