import { parsePetId, type Stock, type StockItem } from '../stock.ts';

const ITEMS_ON_PAGE = 100;
/** After this many items the search pauses, so that a stock of millions does not block other requests. */
const ITEMS_AT_ONCE = 20_000;

interface StockPage {
  /** Number of pets in the stock. */
  size: number;
  hasMore: boolean;
  /** Ids are text, since the page would round long numbers. */
  items: { petId: string; quantity: number; status: string }[];
}

interface Search {
  /** Part of an id or status; a pet with exactly this id comes first. Empty for all pets. */
  words: string;
  /** Index of the first item among the pets that match, from 0. */
  from: number;
  signal: AbortSignal;
}

/** Finds a page of up to a hundred pets. It stops as soon as the page is full or the signal aborts, and pauses in a large stock. */
export async function searchStock(stock: Stock, { words, from, signal }: Search): Promise<StockPage> {
  const wanted = words.trim().toLowerCase();
  const id = parsePetId(wanted);
  const exact = id === undefined ? undefined : stock.get(id);
  const found: StockItem[] = [];
  let matches = 0;
  let searched = 0;
  const take = (item: StockItem) => {
    if (matches >= from) found.push(item);
    matches += 1;
  };
  if (exact) take(exact);
  for (const item of stock.values()) {
    if (found.length > ITEMS_ON_PAGE || signal.aborted) break;
    searched += 1;
    if (searched % ITEMS_AT_ONCE === 0) await new Promise((resolve) => setTimeout(resolve));
    if (item.petId !== exact?.petId && `${item.petId} ${item.status}`.toLowerCase().includes(wanted)) take(item);
  }
  const items = found.slice(0, ITEMS_ON_PAGE).map(({ petId, ...rest }) => ({ petId: String(petId), ...rest }));
  return { size: stock.size, hasMore: found.length > ITEMS_ON_PAGE, items };
}
