import { CsvError, type Parser, parse } from 'csv-parse';
import { csvLine } from '../csv-line.ts';
import { counted } from '../duration.ts';
import { peek } from './open-input.ts';
import { badRow, type InputRow, invisibleHint, MAX_ROW, type Place, type RowFields, tooLong, wantedRow } from './wanted-row.ts';

/** Characters that are passed to the parser at once. */
const PIECE = 2_048;

/** The index of each column; -1 if it is missing. */
interface Columns {
  petId: number;
  quantity: number;
  adjust: number;
}

/** Reads CSV (RFC 4180) with a header, which also decides the separator. Other columns are skipped. */
export async function* csvRows(text: AsyncIterable<string>, name: string): AsyncGenerator<InputRow> {
  const { separator, whole } = await peekSeparator(text);
  let header: { columns: Columns; width: number } | undefined;
  for await (const { fields, row } of parsedRows(whole, { name, separator })) {
    if (!header) {
      // Such as `sep=;`, which tells Excel the separator.
      if (fields.join() === 'sep=,') continue;
      header = { columns: columnsOf(fields, { name, row }), width: fields.length };
      continue;
    }
    const entry = fields.length === header.width ? wantedRow(pick(fields, header.columns)) : widthProblem(fields.length, header.width);
    yield typeof entry === 'string' ? { row, reason: entry, text: csvLine(fields, separator) } : { row, entry };
  }
}

const SEPARATORS = [',', ';', '\t', '|'] as const;

/** The separator that occurs most often in the first line, outside quotes. */
async function peekSeparator(text: AsyncIterable<string>): Promise<{ separator: string; whole: AsyncIterable<string> }> {
  const { head, whole } = await peek(text, (begun) => /[\r\n]/.test(begun.trimStart()) || begun.length > MAX_ROW);
  const line = (head.trimStart().split(/[\r\n]/, 1)[0] ?? '').replace(/"[^"]*"/g, '');
  const counts = SEPARATORS.map((separator) => line.split(separator).length);
  return { separator: SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ',', whole };
}

interface ParsedRow {
  fields: string[];
  /** The number of the line in which the row ends, counted from 1. */
  row: number;
}

async function* parsedRows(
  text: AsyncIterable<string>,
  { name, separator }: { name: string; separator: string },
): AsyncGenerator<ParsedRow> {
  let next = 1;
  const parser = createParser(separator, (afterBlankLines) => {
    next = afterBlankLines;
  });
  // The iteration below reports errors, but an error event without a listener would end the process.
  parser.on('error', () => {});
  try {
    for await (const piece of pieces(text)) {
      parser.write(piece);
      for (let record = parser.read(); record !== null; record = parser.read()) yield asRow(record);
      if (parser.destroyed) break;
    }
    parser.end();
    for await (const record of parser) yield asRow(record);
  } catch (error) {
    throw error instanceof CsvError ? explain(error, { name, row: next + blankLines(error) }) : error;
  } finally {
    parser.destroy();
  }
}

/** The parser adds the line number to each record as its last field, and reports where the next begins, blank lines not counted. */
function createParser(separator: string, onNext: (line: number) => void): Parser {
  return parse({
    bom: true,
    trim: true,
    skip_empty_lines: true,
    delimiter: separator,
    relax_column_count: true,
    relax_quotes: true,
    record_delimiter: '\n',
    max_record_size: MAX_ROW,
    on_record: (fields: string[], { lines, empty_lines }) => {
      onNext(lines + 1 - empty_lines);
      return [...fields, String(lines)];
    },
  });
}

function asRow(record: string[]): ParsedRow {
  return { row: Number(record.pop()), fields: record };
}

/**
 * Writes every line break as \n: a file may be put together from parts, and the parser counts \r\n within quotes as two lines. Splits
 * chunks, since the parser keeps all records of what it was given, and V8 frees small pieces cheaply.
 */
async function* pieces(text: AsyncIterable<string>): AsyncGenerator<string> {
  let held = '';
  for await (const chunk of text) {
    const begun = held + chunk;
    // The rest of this line break may be in the next chunk.
    held = begun.endsWith('\r') ? '\r' : '';
    const whole = begun.slice(0, begun.length - held.length).replaceAll(/\r\n?/g, '\n');
    for (let start = 0; start < whole.length; start += PIECE) yield whole.slice(start, start + PIECE);
  }
  if (held !== '') yield '\n';
}

function blankLines(error: CsvError): number {
  return Number(Reflect.get(error, 'empty_lines') ?? 0);
}

/** The row is where the record begins: after an open quote, the line of the error is the end of the file. */
function explain(error: CsvError, place: Place): Error {
  if (error.code === 'CSV_MAX_RECORD_SIZE') return tooLong(place);
  if (error.code === 'CSV_QUOTE_NOT_CLOSED') return badRow(place, 'a quote is not closed');
  const reason = error.message.replace(/ on line \d+$| at line \d+$/, '').replace(/^./, (first) => first.toLowerCase());
  return badRow(place, reason.split('\n')[0] ?? reason);
}

function widthProblem(fields: number, width: number): string {
  return `it has ${counted(fields, 'field')} where the header has ${width}`;
}

function columnsOf(header: string[], place: Place): Columns {
  const names = header.map((column) => column.toLowerCase());
  const find = (column: string): number => {
    const index = names.indexOf(column.toLowerCase());
    if (names.lastIndexOf(column.toLowerCase()) !== index) throw badRow(place, `the column ${column} occurs twice`);
    return index;
  };
  const columns = { petId: find('petId'), quantity: find('quantity'), adjust: find('adjust') };
  const found = `(found ${header.join(', ').slice(0, 80)})${invisibleHint(header.join(' '))}`;
  if (columns.petId < 0) throw badRow(place, `it must name the columns, and petId is missing ${found}`);
  if (columns.quantity < 0 && columns.adjust < 0)
    throw badRow(place, `it must name the columns, and quantity or adjust is missing ${found}`);
  return columns;
}

function pick(fields: string[], { petId, quantity, adjust }: Columns): RowFields {
  return { petId: fields[petId], quantity: fields[quantity], adjust: fields[adjust] };
}
