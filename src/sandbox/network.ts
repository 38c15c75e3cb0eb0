import type { Failure } from './faults.ts';
import type { Exchange } from './service.ts';

/** Makes the error with which Node's fetch rejects when there is no answer, with the code on its cause. */
export function networkError(code: string, detail: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(detail), { code }) });
}

/** Delivers an answer as a fetch does, with the exchange's failure, if it has one. */
export function deliver({ response, failure, cause }: Exchange, signal: AbortSignal): Promise<Response> {
  if (cause !== undefined) return Promise.reject(new TypeError('fetch failed', { cause }));
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
  let stopListening = () => {};
  let isBroken = false;
  return new ReadableStream(
    {
      start(controller) {
        const abort = () => {
          controller.error(signal.reason);
          reader.cancel(signal.reason).catch(() => {});
        };
        signal.addEventListener('abort', abort, { once: true });
        stopListening = () => signal.removeEventListener('abort', abort);
      },
      async pull(controller) {
        if (isBroken) return breakBody(controller, failure);
        const piece = await reader.read();
        if (signal.aborted) return;
        isBroken = failure !== undefined;
        if (!piece.done) return controller.enqueue(isBroken ? piece.value.slice(0, piece.value.byteLength / 2) : piece.value);
        stopListening();
        controller.close();
      },
      cancel(reason) {
        stopListening();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Stalls, or fails like a cut body. It is called after half of the first piece. */
async function breakBody(controller: ReadableStreamDefaultController, failure: Failure | undefined): Promise<void> {
  if (failure === 'stall-body') await new Promise(() => {});
  const cause = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
  controller.error(new TypeError('terminated', { cause }));
}
