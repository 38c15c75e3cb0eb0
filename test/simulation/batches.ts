import type { RecordedCall, StartedLine } from './recording.ts';

/** A call that begins so soon after the end of another, or after the beginning of one in its batch, is taken for one of a batch. */
const AT_ONCE_MS = 5;

const NOTHING_YET = { retries: 0, longestWaitMs: 0, refusedWaitMs: undefined, settled: undefined };

interface Batch {
  readonly after: readonly RecordedCall[];
  readonly calls: RecordedCall[];
  lastAtMs: number;
}

/**
 * Groups calls that begin together, between the end of one call and the end of another, and finds the calls that they seem to have waited
 * for: all of the batch before if it has ended, such as by `Promise.all`, or else the call that ended last, as where workers take turns.
 */
export class Batches {
  readonly #batchOf = new Map<RecordedCall, Batch>();
  /** Calls that have ended, and that no other call has followed. */
  readonly #unfollowed = new Set<RecordedCall>();
  /** Still joined by calls: none has ended since it began. */
  #open: Batch | undefined;
  #lastEnded: RecordedCall | undefined;

  begin({ call: number, operation, pet, atMs }: StartedLine): RecordedCall {
    const isJoined = this.#open !== undefined && atMs - this.#open.lastAtMs <= AT_ONCE_MS;
    const batch = isJoined && this.#open ? this.#open : { after: this.#endedBefore(atMs), calls: [], lastAtMs: atMs };
    const call: RecordedCall = { number, operation, pet, atMs, after: batch.after, requests: [], ...NOTHING_YET };
    batch.calls.push(call);
    batch.lastAtMs = atMs;
    this.#batchOf.set(call, batch);
    this.#open = batch;
    return call;
  }

  end(call: RecordedCall): void {
    this.#unfollowed.add(call);
    this.#open = undefined;
    this.#lastEnded = call;
  }

  #endedBefore(atMs: number): RecordedCall[] {
    const last = this.#lastEnded;
    this.#lastEnded = undefined;
    if (last?.settled === undefined || atMs - last.settled.atMs > AT_ONCE_MS) return [];
    const batch = this.#batchOf.get(last)?.calls ?? [];
    const hasEnded = batch.every(({ settled }) => settled);
    const followed = hasEnded ? batch.filter((call) => this.#unfollowed.has(call)) : [last];
    for (const call of followed) this.#unfollowed.delete(call);
    return followed;
  }
}
