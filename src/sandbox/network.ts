import type { Failure } from './fault.ts';
import type { Exchange } from './service.ts';

/** Makes the error with which Node's fetch rejects when there is no answer, with the code on its cause. */
export function networkError(code: string, detail: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(detail), { code }) });
}

/** Delivers an answer as a fetch does, with the exchange's failure, if it has one. */
export function deliver({ response, failure }: Exchange, signal: AbortSignal): Promise<Response> {
  if (failure === 'reset' || failure === 'lost') return Promise.reject(networkError('ECONNRESET', 'read ECONNRESET'));
  if (failure === 'stall') return new Promise(() => {});
  if (response.body === null) return Promise.resolve(response);
  return Promise.resolve(new Response(carry(response.body, { signal, failure }), response));
}

/** Copies a body until the signal aborts, as with a real fetch, or until the failure breaks it. */
function carry(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { signal, failure }: { signal: AbortSignal; failure: Failure | undefined },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  let isBroken = false;
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  return new ReadableStream(
    {
      // It listens to the signal only while a piece is read: a body that is not read to its end would leave its listener behind.
      async pull(controller) {
        try {
          const piece = await orAbort(isBroken ? breakBody(failure, left) : reader.read(), signal);
          isBroken = failure !== undefined;
          if (piece.done) controller.close();
          else controller.enqueue(isBroken ? piece.value.slice(0, piece.value.byteLength / 2) : piece.value);
        } catch (error) {
          reader.cancel(error).catch(() => {});
          throw error;
        }
      },
      cancel(reason) {
        leave();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Stalls until the reader has left, or fails like a cut body. It is called after half of the first piece. */
async function breakBody(failure: Failure | undefined, left: Promise<void>): Promise<never> {
  if (failure === 'stall-body') await left;
  const cause = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
  throw new TypeError('terminated', { cause });
}

/** Settles as `work` does, or rejects with the signal's reason as soon as it aborts. */
export function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
