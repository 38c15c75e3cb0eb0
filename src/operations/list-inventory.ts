import type { Call } from '../call.ts';
import { isPromise } from '../clock/is-promise.ts';
import { INVENTORY_PATH } from '../contract/http.ts';
import type { Int64, InventoryItem } from '../contract/models.ts';
import { parseRows, type Rows } from '../json/parse-rows.ts';
import { loadPart } from '../load-part.ts';
import { type Read, readUpTo } from '../transport/body.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';
import type { BegunList } from './long-list.ts';
import { decode, type Fault, invalidResponse, NOT_UTF8, type Operation } from './operation.ts';
import { announceUnknown } from './unknown-statuses.ts';

/** Up to this size, decoding and parsing the whole list at once is fastest in a young process: that code is native. */
const SMALL_LIST_BYTES = 1_048_576;
/** After so many bytes of small lists, the reader of long lists is loaded for the next ones: once compiled, it is faster. */
const BYTES_BEFORE_READER = 4 * 1_048_576;

let parsedBytes = 0;
let long: typeof import('./long-list.ts') | undefined;

/** Reads the stock of all pets into one array (specification, listInventory). Fails if the list is longer than `maxBytes`. */
export function listInventory<Ids extends Int64>(int64: Ids, maxBytes: number): Operation<InventoryItem<Ids>[]> {
  return {
    name: 'listInventory',
    request: { method: 'GET', path: INVENTORY_PATH },
    read: (answer, call) => readItems(answer, call, { int64, maxBytes }),
  };
}

/** Reads a small list as one text, and a large one as it arrives, so that neither its bytes nor its text are ever in memory as a whole. */
function readItems<Ids extends Int64>(
  answer: OpenAnswer,
  call: Call,
  { int64, maxBytes }: Omit<BegunList<Ids>, 'begun'>,
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
  const items = long?.readPlainList(bytes, int64);
  return items ? { items } : readText(bytes, int64);
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
  import('./long-list.ts').then(onLoad, () => {});
}

async function readLarge<Ids extends Int64>(answer: OpenAnswer, call: Call, list: BegunList<Ids>): Promise<Result<Ids>> {
  const { readLongList } = await loadPart('the reader of long lists', call, import('./long-list.ts'));
  return readLongList(answer, list);
}
