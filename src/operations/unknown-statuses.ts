import type { Call } from '../call.ts';
import { isPetStatus } from '../contract/pet-status.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';

/** Most statuses that are announced for one call, so that a service with a new status for each item does not flood the listeners. */
const MOST_ANNOUNCED = 32;

interface Announcing {
  call: Call;
  answer: OpenAnswer;
  /** The statuses of earlier items of the answer. */
  announced?: Set<string>;
}

/** Announces each status of items that the specification does not name, once, in a form that is safe for a log, if there is a listener. */
export function announceUnknown(items: Iterable<{ status: string }>, { call, answer, announced }: Announcing): void {
  if (!call.hasListener('unknownStatus')) return;
  const known = announced ?? new Set();
  for (const { status } of items) {
    if (known.size >= MOST_ANNOUNCED) return;
    if (isPetStatus(status) || known.has(status)) continue;
    known.add(status);
    call.emit('unknownStatus', (event) => ({ ...event, status: answer.clean(status) }));
  }
}
