import { isServiceFailure } from '../../src/contract/http.ts';
import type { RecordedCall, RecordedRequest } from './recording.ts';

/** A Reset so far ahead is the minute's; whole seconds and clocks leave some room. */
export const MINUTE_AHEAD_MS = 62_000;
/** So many failures in a row are an outage; fewer hit one request each. */
const OUTAGE = 3;
/** A single failure is kept for its own call for so long, since backoffs differ by chance. */
const OWN_MS = 1_000;
/** How an answer with a good status can fail. */
const BROKEN_BODIES = ['connection', 'timeout', 'invalid-response'];

/** Requests in a time in which none of a kind succeeds. */
interface Outage {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly failures: readonly RecordedRequest[];
}

/** A request of a replay, as it arrives. */
interface Arrival {
  readonly call: RecordedCall | undefined;
  readonly nowMs: number;
}

/** Whether the service or the network failed before an answer began. */
export function isFailure({ status, kind }: RecordedRequest): boolean {
  if (status === undefined) return kind === 'connection' || kind === 'timeout';
  return isServiceFailure(status) || status === 408 || status === 425;
}

/** Whether a call gave up a request that would have had its answer, if the service had been as fast as before. */
function isHang({ status, kind, ms = 0 }: RecordedRequest, answeredInMs: number): boolean {
  return status === undefined && kind === 'abort' && ms > answeredInMs;
}

/** Whether the body of a good answer broke. */
export function hasBrokenBody({ status = 0, kind = '' }: RecordedRequest): boolean {
  return status >= 200 && status < 300 && BROKEN_BODIES.includes(kind);
}

/** A wait of a 429 that is longer than a minute. */
export function isClosing({ status, retryAfterMs = 0 }: RecordedRequest): boolean {
  return status === 429 && retryAfterMs > MINUTE_AHEAD_MS;
}

/** The failures of a recording, which come again. */
export class Failures {
  readonly #outages: Outage[] = [];
  readonly #single: RecordedRequest[] = [];
  readonly #broken: RecordedRequest[];

  /** The limit explains the 429s that are not `counted`. */
  constructor(requests: readonly RecordedRequest[], counted: ReadonlySet<RecordedRequest>) {
    this.#broken = requests.filter(hasBrokenBody);
    let row: RecordedRequest[] = [];
    let answeredInMs = requests.find(({ status }) => status !== undefined)?.ms ?? 0;
    for (const request of requests) {
      if (isFailure(request) || isHang(request, answeredInMs)) row.push(request);
      else if (request.status !== undefined) row = this.#end(row);
      if (request.status !== undefined) answeredInMs = request.ms ?? answeredInMs;
    }
    this.#end(row);
    this.#single.push(...requests.filter((request) => request.status === 429 && counted.has(request)));
  }

  /** The failure of a request: an outage hits every one, a single failure its own call or else the first request after it. */
  at({ call, nowMs }: Arrival): RecordedRequest | undefined {
    const outage = this.#outages.find(({ fromMs, untilMs }) => nowMs >= fromMs && nowMs <= untilMs);
    if (outage) return outage.failures.findLast(({ atMs }) => atMs <= nowMs) ?? outage.failures[0];
    return take(this.#single, { call, nowMs });
  }

  /** How the body of a good answer breaks. */
  ofBody(arrival: Arrival): RecordedRequest | undefined {
    return take(this.#broken, arrival);
  }

  #end(row: RecordedRequest[]): RecordedRequest[] {
    const [first] = row;
    const last = row.at(-1);
    if (first && last && row.length >= OUTAGE)
      this.#outages.push({ fromMs: first.atMs, untilMs: last.atMs + (last.ms ?? 0) / 2, failures: row });
    else this.#single.push(...row);
    return [];
  }
}

function take(failures: RecordedRequest[], { call, nowMs }: Arrival): RecordedRequest | undefined {
  const isDue = (failure: RecordedRequest) => {
    if (failure.call === call) return failure.atMs - OWN_MS <= nowMs;
    // Another call may not be aborted, and would hang for longer.
    return failure.kind !== 'abort' && failure.atMs + OWN_MS <= nowMs;
  };
  const index = failures.findIndex(isDue);
  return index < 0 ? undefined : failures.splice(index, 1)[0];
}
