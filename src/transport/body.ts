/** The bytes of one answer, after decompression. */
export interface Body {
  /** Gives the next bytes, undefined at the end. Rejects with a PetStoreError if they stop coming. */
  next(): Promise<Uint8Array | undefined>;
}

/** The bytes read from a body, and whether the body ended within the cap. */
export interface Read {
  bytes: Uint8Array;
  isComplete: boolean;
}

/** Reads a body until it ends or the chunks read so far exceed `maxBytes`. */
export async function readUpTo(body: Body, maxBytes: number): Promise<Read> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let chunk = await body.next(); chunk; chunk = await body.next()) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > maxBytes) return { bytes: concat(chunks, size), isComplete: false };
  }
  return { bytes: concat(chunks, size), isComplete: true };
}

export function concat(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = chunks;
  if (chunks.length === 1 && only) return only;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
