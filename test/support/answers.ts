/** An answer with a JSON body. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return text(status, JSON.stringify(body), headers);
}

/** An answer with this very body. */
export function text(status: number, body: string | null, headers: Record<string, string> = {}): Response {
  return new Response(body, { status, headers: { 'content-type': 'application/json', ...headers } });
}

/** An answer with an Error body (specification, Error). */
export function failure(status: number, headers: Record<string, string> = {}): Response {
  return json(status, { code: `code_${status}`, message: `message ${status}`, status }, headers);
}

/** The stock of one pet as the service answers an update. */
export function item(petId: number, quantity = 1): Response {
  return json(200, { petId, quantity, status: 'available' });
}

/** A body that comes in these chunks, and then does what `end` says. */
export function chunked(chunks: readonly (string | Uint8Array)[], end: 'close' | 'stall' | 'break' = 'close'): ReadableStream<Uint8Array> {
  const left = chunks.map((chunk) => (typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk));
  return new ReadableStream(
    {
      pull: (controller) => {
        const chunk = left.shift();
        if (chunk) return controller.enqueue(chunk);
        if (end === 'close') return controller.close();
        if (end === 'break') return controller.error(networkError('ECONNRESET'));
        return new Promise(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

/** What a fetch of Node rejects with when there is no answer. */
export function networkError(code: string, message = `connect ${code}`): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code }) });
}
