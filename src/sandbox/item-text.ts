import type { StockItem } from './stock.ts';

const PIECE_LENGTH = 65_536;

/** Writes an entry as JSON without JSON.stringify, which rejects a bigint; a number would round the id. */
export function itemText({ petId, quantity, status }: StockItem): string {
  return `{"petId":${petId},"quantity":${quantity},"status":${JSON.stringify(status)}}`;
}

/** Writes a list as JSON in pieces of about 64 KiB, so that a list of any length needs little memory and starts at once. */
export function* listPieces(items: Iterable<StockItem>): Generator<string> {
  let piece = '[';
  let separator = '';
  for (const item of items) {
    piece += separator + itemText(item);
    separator = ',';
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]`;
}

/** Makes a body that takes a piece only when its reader is ready for one. */
export function bodyOf(pieces: Iterator<string>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull(controller) {
      const piece = pieces.next();
      if (piece.done) controller.close();
      else controller.enqueue(encoder.encode(piece.value));
    },
    cancel() {
      pieces.return?.();
    },
  });
}
