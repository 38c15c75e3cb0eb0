import type { PetStoreClient } from '../../client.ts';
import { INVENTORY_PATH } from '../../contract/http.ts';
import type { Int64 } from '../../contract/models.ts';
import { isPetStoreError, type PetStoreError } from '../../errors.ts';
import type { WaitReason } from '../../events.ts';

/** A wait shorter than this is no reason not to ask. */
const SHORT_WAIT_MS = 1_000;

/** The outcome of the check's one request, or why it was not sent. */
export type Asked =
  | { kind: 'answered'; response: Response; receivedAtMs: number }
  | { kind: 'failed'; error: PetStoreError }
  | { kind: 'waits'; reason: WaitReason; until: Date };

/** Why a check stops: it would wait, or send a second request. */
class Stop extends Error {
  readonly asked: Asked;
  constructor(asked: Asked) {
    super('the check asks once');
    this.asked = asked;
  }
}

/** Asks for the list once, as the client does, and waits for nothing. Gives the answer whatever its status. */
export async function askOnce<Ids extends Int64>(client: PetStoreClient<Ids>, signal: AbortSignal | undefined): Promise<Asked> {
  const controller = new AbortController();
  const stopListening = listen(client, (asked) => controller.abort(new Stop(asked)));
  try {
    const asking = client.fetch(`/${INVENTORY_PATH}`, {
      signal: signal ? AbortSignal.any([signal, controller.signal]) : controller.signal,
    });
    return { kind: 'answered', response: await asking, receivedAtMs: Date.now() };
  } catch (error) {
    if (error instanceof Stop) return error.asked;
    if (!isPetStoreError(error)) throw error;
    // The wait is longer than the client's calls may take.
    const until = error.kind === 'rate-limit' && error.status === undefined ? error.retryAt : undefined;
    return until ? { kind: 'waits', reason: 'rate-limit', until } : { kind: 'failed', error };
  } finally {
    stopListening();
  }
}

/** The next call of the client is that of the check: it begins in the same turn. */
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
