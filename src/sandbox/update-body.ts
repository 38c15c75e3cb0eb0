import { InventoryUpdate } from '../contract/models.ts';

const MAX_UPDATE_BYTES = 65_536;

/** The quantity in the body of an update; undefined if the body is not valid. */
export function parseQuantity(text: string): number | undefined {
  try {
    const update = InventoryUpdate.safeParse(JSON.parse(text));
    // JSON knows -0, but a stock has no -0.
    return update.success ? update.data.quantity + 0 : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the body of an update; undefined if it is larger than 64 KiB. */
export async function readUpdate(request: Request): Promise<string | undefined> {
  const announced = request.headers.get('content-length');
  // A server does not let a client send more than it announced. Reading the text at once is twice as fast as piece by piece.
  if (Number(announced ?? 0) > MAX_UPDATE_BYTES) return undefined;
  // Firefox has no `body` of a Request.
  if (announced !== null || !request.body) {
    const text = await request.text();
    return text.length > MAX_UPDATE_BYTES ? undefined : text;
  }
  const reader = request.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    bytes += piece.value.byteLength;
    if (bytes > MAX_UPDATE_BYTES) {
      await reader.cancel();
      return undefined;
    }
    text += decoder.decode(piece.value, { stream: true });
  }
  return text + decoder.decode();
}
