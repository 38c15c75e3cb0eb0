/** The bytes of one answer, after decompression. */
export interface Body {
  /** Gives all chunks of a body that has arrived whole and has at most `maxBytes`; otherwise undefined, and it can still be read. */
  takeWhole(maxBytes: number): readonly Uint8Array[] | undefined;
  /** Gives the next bytes, undefined at the end. Rejects with a PetStoreError if they stop coming. */
  next(): Promise<Uint8Array | undefined>;
}

/** The bytes read from a body, and whether the body ended within the cap. */
export interface Read {
  bytes: Uint8Array;
  isComplete: boolean;
}

/** Reads a body until it ends or the chunks read so far exceed `maxBytes`: at once if it has arrived whole. */
export function readUpTo(body: Body, maxBytes: number): Read | Promise<Read> {
  const whole = body.takeWhole(maxBytes);
  if (!whole) return readOn(body, maxBytes);
  const size = whole.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  return { bytes: concat(whole, size), isComplete: true };
}

// A loop of its own: that of `readBeginning` around it would cost every call another promise.
async function readOn(body: Body, maxBytes: number): Promise<Read> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let chunk = await body.next(); chunk; chunk = await body.next()) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > maxBytes) return { bytes: concat(chunks, size), isComplete: false };
  }
  return { bytes: concat(chunks, size), isComplete: true };
}

/** The beginning of a body. */
export interface Beginning {
  bytes: Uint8Array;
  /** `whole`: there is no more. `cut`: there is more, and it can be read. Else the error that ended the body. */
  end: 'whole' | 'cut' | { error: unknown };
}

/** Reads a body until it ends, fails, or the chunks read so far exceed `maxBytes`. Never rejects. */
export async function readBeginning(body: Body, maxBytes: number): Promise<Beginning> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const endedBy = (end: Beginning['end']) => ({ bytes: concat(chunks, size), end });
  try {
    for (let chunk = await body.next(); chunk; chunk = await body.next()) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size > maxBytes) return endedBy('cut');
    }
    return endedBy('whole');
  } catch (error) {
    return endedBy({ error });
  }
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
