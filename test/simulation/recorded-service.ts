import { untilAborted } from '../../src/clock/until-aborted.ts';
import { isServiceFailure } from '../../src/contract/http.ts';
import type { Meter } from '../../src/sandbox/meter.ts';
import type { VirtualTime } from '../worlds/virtual-time.ts';
import { type Counted, clockAheadMs, meterOf, type Others, recognise, USUAL_LATENCY_MS } from './counted.ts';
import { Failures, isClosing } from './failures.ts';
import type { RecordedCall, RecordedRequest, Recording } from './recording.ts';

/** The header by which a request of the replay tells whose it is. */
export const CALL_HEADER = 'x-recorded-call';

/** What an answer says. */
interface Told {
  readonly status: number;
  readonly body: string | ReadableStream;
  readonly nowMs: number;
  readonly waitMs?: number | undefined;
}

/** A service that does what the recorded one did: counts, fails and takes its time likewise, whoever asks and when. */
export class RecordedService {
  readonly counted: Counted;
  readonly #time: VirtualTime;
  readonly #meter: Meter | undefined;
  readonly #aheadMs: number;
  readonly #others: Others[];
  readonly #failures: Failures;
  readonly #closed: readonly RecordedRequest[];
  readonly #calls: ReadonlyMap<string, RecordedCall>;
  /** The answered request whose latency holds now, and later ones. */
  readonly #answered: RecordedRequest[];
  readonly #tells: { readonly date: boolean; readonly limit: boolean; readonly wait: boolean };
  #answers = 0;

  constructor(recording: Recording, time: VirtualTime) {
    const { requests } = recording;
    this.#time = time;
    this.#aheadMs = clockAheadMs(requests);
    this.counted = recognise(recording, this.#aheadMs);
    this.#meter = this.counted.plan && meterOf(this.counted.plan, this.counted.policy);
    this.#others = [...this.counted.others];
    this.#failures = new Failures(requests, this.counted.failures);
    this.#closed = requests.filter(isClosing);
    this.#calls = new Map(recording.calls.map((call) => [String(call.number), call]));
    this.#answered = requests.filter(({ status }) => status !== undefined);
    this.#tells = {
      date: requests.some(({ dateMs }) => dateMs !== undefined),
      limit: requests.some(({ rateLimit }) => rateLimit),
      wait: requests.some(({ retryAfterMs }) => retryAfterMs !== undefined),
    };
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const { method, headers, signal } = new Request(input, init);
    const sentAtMs = this.#time.nowMs;
    const latencyMs = this.#latencyMs(sentAtMs);
    const call = this.#calls.get(headers.get(CALL_HEADER) ?? '');
    const answer = async () => {
      if (latencyMs >= 2) await this.#time.wait(latencyMs / 2);
      const response = this.#answer(call, method);
      if (latencyMs >= 2) await this.#time.wait(latencyMs / 2);
      return response ?? new Promise<never>(() => {});
    };
    return untilAborted(answer(), signal);
  };

  /** Undefined where none comes. @throws TypeError where the connection breaks */
  #answer(call: RecordedCall | undefined, method: string): Response | undefined {
    const nowMs = this.#time.nowMs + this.#aheadMs;
    this.#countOthers(nowMs);
    const arrival = { call, nowMs: this.#time.nowMs };
    const failure = this.#failures.at(arrival);
    if (failure && this.counted.failures.has(failure)) this.#meter?.judge(nowMs);
    if (failure) return this.#fail(failure, nowMs);
    const verdict = this.#meter?.judge(nowMs);
    const waitMs = this.#closedMs(this.#time.nowMs) ?? (verdict?.kind === 'limited' ? verdict.opensAtMs - nowMs : undefined);
    if (waitMs !== undefined) return this.#respond({ status: 429, body: '', nowMs, waitMs });
    const status = ownStatusOf(call);
    if (status !== undefined) return this.#respond({ status, body: '', nowMs });
    const broken = this.#failures.ofBody(arrival);
    return this.#respond({ status: 200, body: broken ? brokenBody(broken) : bodyFor(call, method), nowMs });
  }

  #respond({ status, body, nowMs, waitMs }: Told): Response {
    const headers = new Headers({ 'content-type': 'application/json' });
    if (this.#tells.date) headers.set('date', new Date(nowMs).toUTCString());
    if (this.#meter && this.#tells.limit) {
      this.#answers += 1;
      const { limit, remaining, resetAtMs } = this.#meter.told(nowMs, this.#answers);
      headers.set('x-ratelimit-limit', String(limit));
      headers.set('x-ratelimit-remaining', String(remaining));
      headers.set('x-ratelimit-reset', String(Math.ceil(resetAtMs / 1_000)));
    }
    if (waitMs !== undefined && this.#tells.wait) headers.set('retry-after', String(Math.ceil(waitMs / 1_000)));
    // A 304 may not even have an empty body.
    return new Response(body || null, { status, headers });
  }

  #countOthers(nowMs: number): void {
    while (this.#others[0] && this.#others[0].atMs <= nowMs) {
      const { atMs, count } = this.#others.shift() ?? { atMs: nowMs, count: 0 };
      for (let other = 0; other < count; other++) this.#meter?.judge(atMs);
    }
  }

  #fail({ status, kind, retryAfterMs }: RecordedRequest, nowMs: number): Response | undefined {
    if (status !== undefined) return this.#respond({ status, body: '', nowMs, waitMs: retryAfterMs });
    if (kind === 'timeout' || kind === 'abort') return undefined;
    throw new TypeError('fetch failed', { cause: connectionReset() });
  }

  /** What is left of a wait that no minute explains: the day's end, or a ban. */
  #closedMs(nowMs: number): number | undefined {
    const last = this.#closed.findLast(({ atMs }) => atMs <= nowMs);
    const untilMs = last && last.atMs + (last.ms ?? 0) + (last.retryAfterMs ?? 0);
    return untilMs !== undefined && untilMs > nowMs ? untilMs - nowMs : undefined;
  }

  #latencyMs(nowMs: number): number {
    while (this.#answered[1] && this.#answered[1].atMs <= nowMs) this.#answered.shift();
    return this.#answered[0]?.ms ?? USUAL_LATENCY_MS;
  }
}

/** What has to do with the call alone, such as a pet that is missing, comes again for that call. */
function ownStatusOf(call: RecordedCall | undefined): number | undefined {
  const status = call?.requests.at(-1)?.status ?? 200;
  return status >= 300 && !isServiceFailure(status) && ![408, 425, 429].includes(status) ? status : undefined;
}

function bodyFor(call: RecordedCall | undefined, method: string): string {
  const item = { petId: petIdOf(call), quantity: 1, status: 'available' };
  return JSON.stringify(method === 'PATCH' ? item : [item]);
}

/** A body that ends, stalls or is wrong after its first byte. */
function brokenBody({ kind }: RecordedRequest): ReadableStream | string {
  if (kind === 'invalid-response') return '[';
  const parts = [new TextEncoder().encode('[')];
  return new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (part) controller.enqueue(part);
      else if (kind === 'connection') controller.error(new TypeError('terminated', { cause: connectionReset() }));
      else return new Promise<void>(() => {});
    },
  });
}

function connectionReset(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
}

/** Which pet an update of the replay is of. */
export function petIdOf(call: RecordedCall | undefined): number {
  return call?.pet ?? 1;
}
