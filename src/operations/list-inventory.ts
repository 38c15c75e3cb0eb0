import type { Call } from '../call.ts';
import { isPromise } from '../clock/is-promise.ts';
import { INVENTORY_PATH } from '../contract/http.ts';
import type { Int64, InventoryItem } from '../contract/models.ts';
import { failureAt } from '../json/failure.ts';
import type { ItemReader } from '../json/item-reader.ts';
import { parseRows, type Rows } from '../json/parse-rows.ts';
import { loadPart } from '../load-part.ts';
import { type Read, readUpTo } from '../transport/body.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';
import { decode, type Fault, invalidResponse, NOT_UTF8, type Operation } from './operation.ts';
import { announceUnknown } from './unknown-statuses.ts';

/** Up to this size, decoding and parsing the whole list at once is fastest in a young process: that code is native. */
const SMALL_LIST_BYTES = 1_048_576;
/** Up to this size, it always is. Larger ones are looked at in parts of this size. */
const SMALLEST_LIST_BYTES = 16_384;
/** After so many bytes of small lists, the reader of long lists is loaded for the next ones: once compiled, it is faster. */
const BYTES_BEFORE_READER = 4 * 1_048_576;

let parsedBytes = 0;
let long: typeof import('../json/item-reader.ts') | undefined;

/** Reads the stock of all pets into one array (specification, listInventory). Fails if the list is longer than `maxBytes`. */
export function listInventory<Ids extends Int64>(int64: Ids, maxBytes: number): Operation<InventoryItem<Ids>[]> {
  return {
    name: 'listInventory',
    request: { method: 'GET', path: INVENTORY_PATH },
    read: (answer, call) => readItems(answer, call, { int64, maxBytes }),
  };
}

/** Items are collected in arrays of about this size, joined at the end: an array that grows to millions is copied again and again. */
const PART_ITEMS = 8192;

interface Limits<Ids extends Int64> {
  int64: Ids;
  maxBytes: number;
}

/** Reads a small list as one text, and a large one as it arrives, so that neither its bytes nor its text are ever in memory as a whole. */
function readItems<Ids extends Int64>(
  answer: OpenAnswer,
  call: Call,
  { int64, maxBytes }: Limits<Ids>,
): InventoryItem<Ids>[] | Promise<InventoryItem<Ids>[]> {
  const take = ({ bytes, isComplete }: Read) =>
    isComplete
      ? check(answer, call, readSmall(bytes, int64))
      : readLarge(answer, call, { begun: bytes, int64, maxBytes }).then((result) => check(answer, call, result));
  const reading = readUpTo(answer.body, Math.min(SMALL_LIST_BYTES, maxBytes));
  return isPromise(reading) ? reading.then(take) : take(reading);
}

function check<Ids extends Int64>(
  answer: OpenAnswer,
  call: Call,
  { items, failure, ...end }: Result<Ids>,
): InventoryItem<Ids>[] | Promise<never> {
  if (failure) return invalidResponse(call, answer, { ...failure, ...end }).then((error) => Promise.reject(error));
  announceUnknown(items, { call, answer });
  return items;
}

type Result<Ids extends Int64> = Rows<Ids> & Pick<Fault, 'isCut' | 'body'>;

function readSmall<Ids extends Int64>(bytes: Uint8Array, int64: Ids): Result<Ids> {
  const items = long && bytes.byteLength > SMALLEST_LIST_BYTES ? readCompiled(new long.ItemReader(int64), bytes) : undefined;
  return items ? { items } : readText(bytes, int64);
}

/**
 * Gives up where the list leaves the plain form, since `JSON.parse` reads other forms faster. If the list is not valid, the error is that of
 * {@link readText}.
 */
function readCompiled<Ids extends Int64>(reader: ItemReader<Ids>, bytes: Uint8Array): InventoryItem<Ids>[] | undefined {
  const items: InventoryItem<Ids>[] = [];
  for (let at = 0; at < bytes.byteLength; at += SMALLEST_LIST_BYTES) {
    const { failure } = reader.push(bytes.subarray(at, at + SMALLEST_LIST_BYTES), items);
    if (failure || !reader.isPlain || items.length === 0) return undefined;
  }
  return reader.end().failure ? undefined : items;
}

function readText<Ids extends Int64>(bytes: Uint8Array, int64: Ids): Result<Ids> {
  countText(bytes.byteLength);
  const text = decode(bytes);
  const rows = text === undefined ? { items: [], failure: NOT_UTF8 } : parseRows(text, int64);
  return rows.failure ? { ...rows, body: { bytes, document: 'list' } } : rows;
}

/** Loads the reader when it will pay. Without it, if it cannot be loaded, small lists are parsed as before. */
function countText(bytes: number): void {
  if (parsedBytes >= BYTES_BEFORE_READER) return;
  parsedBytes += bytes;
  if (parsedBytes < BYTES_BEFORE_READER) return;
  const onLoad = (part: typeof long) => {
    long = part;
  };
  import('../json/item-reader.ts').then(onLoad, () => {});
}

async function readLarge<Ids extends Int64>(
  answer: OpenAnswer,
  call: Call,
  { begun, int64, maxBytes }: Limits<Ids> & { begun: Uint8Array },
): Promise<Result<Ids>> {
  const { ItemReader } = await loadPart('the reader of long lists', call, import('../json/item-reader.ts'));
  const reader = new ItemReader(int64);
  const parts: InventoryItem<Ids>[][] = [[]];
  let size = 0;
  for (let chunk: Uint8Array | undefined = begun; chunk; chunk = await answer.body.next()) {
    size += chunk.byteLength;
    if (size > maxBytes)
      return { items: [], failure: failureAt('', 'too-large', `is longer than the \`maxResponseBytes\` of ${maxBytes}`) };
    const { items, failure } = reader.push(chunk, parts.at(-1));
    if (failure) return { items, failure };
    if (items.length >= PART_ITEMS) parts.push([]);
  }
  const { failure } = reader.end();
  return failure ? { items: [], failure, isCut: true } : { items: join(parts) };
}

function join<Item>([first = [], ...others]: readonly Item[][]): Item[] {
  return first.concat(...others);
}
