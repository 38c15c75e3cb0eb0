import { parsePetId, type Stock, type StockItem } from '../stock.ts';

const ITEMS_ON_PAGE = 100;
/** So many items are looked at in one go: millions of pets hold nobody up. */
const ITEMS_AT_ONCE = 20_000;

export interface StockPage {
  /** Pets in all. */
  size: number;
  /** Place of the first item among those found, from 0. */
  from: number;
  hasMore: boolean;
  /** Ids are text: a page has no use for numbers that it would round. */
  items: { petId: string; quantity: number; status: string }[];
}

interface Search {
  /** Part of an id or of a status; the pet whose id it is comes first. Empty: all. */
  words: string;
  from: number;
  signal: AbortSignal;
}

/** Finds pets, a hundred at a time. Looks through a large stock in parts, and no further than needed, until whoever asked has gone. */
export async function searchStock(stock: Stock, { words, from, signal }: Search): Promise<StockPage> {
  const wanted = words.trim().toLowerCase();
  const exact = wanted === '' ? undefined : stock.get(parsePetId(wanted) ?? 0n);
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
  return { size: stock.size, from, hasMore: found.length > ITEMS_ON_PAGE, items };
}
