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
  return whole ? { bytes: concat(whole), isComplete: true } : readOn(body, maxBytes, []);
}

/** Adds the chunks of a body to `chunks`. */
async function readOn(body: Body, maxBytes: number, chunks: Uint8Array[]): Promise<Read> {
  let size = 0;
  for (let chunk = await body.next(); chunk; chunk = await body.next()) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > maxBytes) return { bytes: concat(chunks), isComplete: false };
  }
  return { bytes: concat(chunks), isComplete: true };
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
  try {
    const { bytes, isComplete } = await readOn(body, maxBytes, chunks);
    return { bytes, end: isComplete ? 'whole' : 'cut' };
  } catch (error) {
    return { bytes: concat(chunks), end: { error } };
  }
}

function concat(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks;
  if (chunks.length === 1 && only) return only;
  const whole = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.byteLength, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
