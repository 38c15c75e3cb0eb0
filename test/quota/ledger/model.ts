import type { Answer } from '../../../src/contract/limits.ts';
import type { PlanLimits } from '../../../src/contract/plans.ts';
import { Ledger } from '../../../src/quota/ledger/ledger.ts';
import type { Sending } from '../../../src/quota/ledger/outstanding.ts';
import { createWindow, type Policy } from '../../../src/sandbox/windows.ts';

/** A service, how it behaves, and the calls to it. Time is a number here; nothing waits. */
export interface World {
  policy: Policy;
  plan: PlanLimits;
  /** The plan that the client is given; if undefined, it learns the plan. */
  told?: PlanLimits | 'unlimited' | undefined;
  /** Calls that all want to be sent at once. */
  calls: number;
  startMs: number;
  /** The server's clock minus ours. */
  skewMs: number;
  /** Travel times to the server and back, used one after the other and then again from the first. */
  delaysMs: readonly number[];
  share?: number;
  /** Instants after the start at which another user sends a request with the same key. */
  othersMs?: readonly number[];
  /** Whether the answer to the n-th request gets lost. */
  isLost?: (n: number) => boolean;
  /** Changes the n-th answer on its way. */
  disturb?: (answer: Answer, n: number) => Answer;
  /** The play gives up after this time. */
  horizonMs?: number;
}

/** One request as both sides saw it. */
export interface Passage {
  sentAtMs: number;
  /** On the server's clock. */
  arrivedAtMs: number;
  status: number;
}

/** What happened. */
export interface Story {
  passages: Passage[];
  refusals: Passage[];
  /** Calls that never got their answer. */
  unfinished: number;
  /** Requests that were sent before the end of an earlier 429's wait. */
  early: number;
  tookMs: number;
}

interface Event {
  atMs: number;
  happen: () => void;
}

/** Plays a ledger against a service. Throws if the ledger says "now" but lets no request go. */
export function play(world: World): Story {
  const ledger = new Ledger({ plan: 'told' in world ? world.told : world.plan, concurrency: 64, share: world.share ?? 1 }, () => 0);
  const service = new Service(world);
  const story: Story = { passages: [], refusals: [], unfinished: world.calls, early: 0, tookMs: 0 };
  const events: Event[] = (world.othersMs ?? []).map((ms) => ({
    atMs: world.startMs + ms,
    happen: () => service.take(world.startMs + ms),
  }));
  const delay = roundAndRound(world.delaysMs);
  const horizonMs = world.startMs + (world.horizonMs ?? 48 * 3_600_000);
  let [nowMs, waiting, inFlight, retryAtMs] = [world.startMs, world.calls, 0, Number.NEGATIVE_INFINITY];

  const send = () => {
    const [n, sending] = [story.passages.length, ledger.send(nowMs)];
    const passage = { sentAtMs: nowMs, arrivedAtMs: 0, status: 0 };
    story.passages.push(passage);
    if (nowMs < retryAtMs) story.early++;
    waiting--;
    inFlight++;
    events.push({ atMs: nowMs + delay(), happen: () => arrive(n, passage, sending) });
  };
  const arrive = (n: number, passage: Passage, sending: Sending) => {
    passage.arrivedAtMs = nowMs + world.skewMs;
    const answer = service.answer(nowMs);
    passage.status = answer.status;
    if (answer.status === 429) story.refusals.push(passage);
    events.push({ atMs: nowMs + delay(), happen: () => hear(n, answer, sending) });
  };
  const hear = (n: number, honest: Answer, sending: Sending) => {
    inFlight--;
    const answer = (world.disturb ?? same)({ ...honest, receivedAtMs: nowMs }, n);
    if (world.isLost?.(n)) ledger.lose(sending, { isFailure: false, isUnsent: false }, nowMs);
    else ledger.observe(sending, answer, nowMs);
    if (answer.status === 429) retryAtMs = Math.max(retryAtMs, nowMs + (answer.retryAfterMs ?? 0));
    if (world.isLost?.(n) || answer.status === 429) waiting++;
    else story.unfinished--;
  };

  for (let looks = 0; story.unfinished > 0 && nowMs < horizonMs; looks++) {
    if (looks > 100_000) throw new Error(`the ledger was asked ${looks} times by ${nowMs - world.startMs} ms`);
    let outlook = ledger.look(nowMs, inFlight);
    for (; waiting > 0 && outlook.free > 0; outlook = ledger.look(nowMs, inFlight)) send();
    if (waiting > 0 && outlook.at <= nowMs) throw new Error(`the ledger spins for ${outlook.reason}`);
    events.sort((one, other) => one.atMs - other.atMs);
    const [next] = events;
    nowMs = Math.min(next?.atMs ?? Number.POSITIVE_INFINITY, waiting > 0 ? Math.ceil(outlook.at) : Number.POSITIVE_INFINITY, horizonMs);
    if (!Number.isFinite(nowMs)) break;
    if (next?.atMs === nowMs) events.shift()?.happen();
  }
  story.tookMs = nowMs - world.startMs;
  return story;
}

/** The counting of the sandbox, whose windows share nothing with the ledger. */
class Service {
  readonly #skewMs: number;
  readonly #minute;
  readonly #day;

  constructor({ policy, plan, skewMs }: World) {
    this.#skewMs = skewMs;
    this.#minute = createWindow(policy, { limit: plan.requestsPerMinute, lengthMs: 60_000 });
    this.#day = createWindow('fixed-clock', { limit: plan.requestsPerDay ?? 1e9, lengthMs: 86_400_000 });
  }

  take(ourMs: number): boolean {
    const nowMs = ourMs + this.#skewMs;
    if (this.#minute.remaining(nowMs) <= 0 || this.#day.remaining(nowMs) <= 0) return false;
    this.#minute.take(nowMs);
    this.#day.take(nowMs);
    return true;
  }

  answer(ourMs: number): Answer {
    const nowMs = ourMs + this.#skewMs;
    const isTaken = this.take(ourMs);
    const opensAtMs = Math.max(this.#minute.opensAtMs(nowMs), this.#day.opensAtMs(nowMs));
    return {
      status: isTaken ? 200 : 429,
      receivedAtMs: ourMs,
      dateMs: Math.floor(nowMs / 1000) * 1000,
      limit: this.#minute.limit,
      remaining: this.#minute.remaining(nowMs),
      resetAtMs: Math.ceil(this.#minute.resetAtMs(nowMs) / 1000) * 1000,
      ...(isTaken ? {} : { retryAfterMs: Math.ceil((opensAtMs - nowMs) / 1000) * 1000 }),
    };
  }
}

/** The most requests that arrived within any stretch of this length, refused ones included. */
export function mostWithin(lengthMs: number, instantsMs: readonly number[]): number {
  const sorted = instantsMs.toSorted((one, other) => one - other);
  let [most, first] = [0, 0];
  sorted.forEach((instant, index) => {
    while ((sorted[first] ?? instant) <= instant - lengthMs) first++;
    most = Math.max(most, index - first + 1);
  });
  return most;
}

function roundAndRound(values: readonly number[]): () => number {
  let index = 0;
  return () => values[index++ % values.length] ?? 0;
}

function same(answer: Answer): Answer {
  return answer;
}
