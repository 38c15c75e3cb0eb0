import type { PetStoreClient } from '../../client.ts';
import { INVENTORY_PATH } from '../../contract/http.ts';
import type { Int64 } from '../../contract/models.ts';
import { isPetStoreError, type PetStoreFailure } from '../../errors.ts';
import type { WaitReason } from '../../events.ts';

/** The check waits this long at most; with a longer wait, it sends no request. */
const SHORT_WAIT_MS = 1_000;

/** The outcome of the check's one request, or why it was not sent. */
export type Asked =
  | { kind: 'answered'; response: Response; receivedAtMs: number }
  | { kind: 'failed'; error: PetStoreFailure }
  | { kind: 'waits'; reason: WaitReason; until: Date };

/** Sends one list request through the client, without waiting for quota or retrying. Returns the answer, whatever its status. */
export async function askOnce<Ids extends Int64>(client: PetStoreClient<Ids>, signal: AbortSignal | undefined): Promise<Asked> {
  const controller = new AbortController();
  // Why the check ends before an answer: it would have to wait, or to send a second request.
  let stopped: Asked | undefined;
  const stopListening = listen(client, (asked) => {
    stopped ??= asked;
    controller.abort();
  });
  try {
    const asking = client.fetch(`/${INVENTORY_PATH}`, {
      signal: signal ? AbortSignal.any([signal, controller.signal]) : controller.signal,
    });
    return { kind: 'answered', response: await asking, receivedAtMs: Date.now() };
  } catch (error) {
    if (stopped) return stopped;
    if (!isPetStoreError(error)) throw error;
    // The client refused because the wait is longer than its calls may wait.
    const until = error.kind === 'rate-limit' && error.status === undefined ? error.retryAt : undefined;
    return until ? { kind: 'waits', reason: 'rate-limit', until } : { kind: 'failed', error };
  } finally {
    stopListening();
  }
}

/** Watches the check's call, which is the next call that the client starts, since it starts in the same tick. */
function listen<Ids extends Int64>(client: PetStoreClient<Ids>, stop: (asked: Asked) => void): () => void {
  let own: number | undefined;
  const stops = [
    client.on('started', ({ callId }) => {
      own ??= callId;
    }),
    client.on('wait', ({ callId, reason, ms }) => {
      if (callId === own && ms > SHORT_WAIT_MS) stop({ kind: 'waits', reason, until: new Date(Date.now() + ms) });
    }),
    client.on('retry', ({ callId, error }) => {
      if (callId === own) stop({ kind: 'failed', error });
    }),
  ];
  return () => {
    for (const end of stops) end();
  };
}
