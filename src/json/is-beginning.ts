import { BYTE, skipSpace } from './bytes.ts';
import { ItemReader } from './item-reader.ts';

/** Whether bytes are an incomplete list or item: valid so far, with the end missing. */
export function isBeginning(bytes: Uint8Array, document: 'list' | 'item'): boolean {
  const reader = new ItemReader('bigint');
  if (document === 'list') return reader.push(bytes).failure === undefined && reader.end().failure !== undefined;
  const first = bytes[skipSpace(bytes, 0)];
  if (first !== undefined && first !== BYTE.openObject) return false;
  reader.push(Uint8Array.of(BYTE.openList));
  const { items, failure } = reader.push(bytes);
  return items.length === 0 && failure === undefined;
}
