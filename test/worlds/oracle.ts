import { PLANS, type PlanLimits } from 'petstore-inventory';
import { createWindow, type Window } from '../../src/sandbox/windows.ts';
import type { World } from './world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

interface Seen {
  /** How many requests of the client the service admitted, repeats among them. */
  readonly requests: number;
  /** When the service admitted requests of others, by its clock, in order. */
  readonly othersAtMs: readonly number[];
}

/** Milliseconds in which a client that knows the rules makes the requests, each sent so that it arrives as soon as it is allowed. */
export function idealMs(world: World, { requests, othersAtMs }: Seen): number {
  const door = new Door(windowsOf(world), othersAtMs);
  const latencyMs = typicalLatencyMs(world.service.latency);
  const slots = new Array<number>(widthOf(world)).fill(world.startsAtMs);
  for (let request = 0; request < requests; request++) {
    const slot = slots.indexOf(Math.min(...slots));
    const freeMs = Math.max(slots[slot] ?? 0, world.startsAtMs + dueMs(world.load, Math.min(request, world.load.calls - 1)));
    slots[slot] = door.admit(freeMs + latencyMs / 2) + latencyMs / 2;
  }
  return Math.max(...slots) - world.startsAtMs;
}

/** Lets requests in at the first instant at which every limit is open, in order, beside those of others. */
class Door {
  readonly #limits: readonly Window[];
  readonly #othersAtMs: number[];
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(limits: readonly Window[], othersAtMs: readonly number[]) {
    this.#limits = limits;
    this.#othersAtMs = [...othersAtMs];
  }

  admit(fromMs: number): number {
    let atMs = Math.max(fromMs, this.#lastMs);
    for (let opensAtMs = this.#opensAtMs(atMs); opensAtMs > atMs; opensAtMs = this.#opensAtMs(atMs)) atMs = Math.max(opensAtMs, atMs + 1);
    this.#take(atMs);
    this.#lastMs = atMs;
    return atMs;
  }

  #opensAtMs(atMs: number): number {
    while ((this.#othersAtMs[0] ?? Number.POSITIVE_INFINITY) <= atMs) this.#take(this.#othersAtMs.shift() ?? atMs);
    return Math.max(...this.#limits.map((limit) => limit.opensAtMs(atMs)));
  }

  #take(atMs: number): void {
    for (const limit of this.#limits) limit.take(atMs);
  }
}

/** What the service counts, and beside it what the client's options allow. */
function windowsOf(world: World): Window[] {
  const { plan, service, client } = world;
  const { policy = 'fixed-clock', burst } = service;
  const minute = typeof policy === 'string' ? policy : policy.minute;
  const day = typeof policy === 'string' ? (policy === 'token-bucket' ? 'fixed-clock' : policy) : policy.day;
  const given = ceilingOf(world);
  const share = typeof client.share === 'number' ? client.share : 1;
  const own = (limit: number, ceiling = limit) => Math.max(1, Math.floor(Math.min(limit, ceiling) * share));
  const minuteLimit = own(plan.requestsPerMinute, given?.requestsPerMinute);
  const minuteWindow = createWindow(minute, { limit: minuteLimit, lengthMs: MINUTE_MS, burst: burst && Math.min(burst, minuteLimit) });
  if (plan.requestsPerDay === undefined) return [minuteWindow];
  return [minuteWindow, createWindow(day, { limit: own(plan.requestsPerDay, given?.requestsPerDay), lengthMs: DAY_MS })];
}

/** A client without a plan keeps to the free one until headers tell another. */
function ceilingOf({ client, service }: World): PlanLimits | undefined {
  if (typeof client.plan === 'object') return client.plan;
  const isNeverTold = typeof service.limitHeaders === 'object' && service.limitHeaders.rate === 0;
  return isNeverTold && client.plan === undefined ? PLANS.free : undefined;
}

function widthOf({ load, client }: World): number {
  return Math.min(client.concurrency ?? 64, load.kind === 'loop' ? load.workers : load.calls);
}

/** How long after the start a call is made at the earliest. */
export function dueMs(load: World['load'], call: number): number {
  if (load.kind === 'steady') return call * load.everyMs;
  return load.kind === 'bursts' ? Math.floor(call / Math.ceil(load.calls / load.bursts)) * load.pauseMs : 0;
}

function typicalLatencyMs(latency: World['service']['latency']): number {
  if (typeof latency === 'number') return latency;
  if (typeof latency !== 'object') return 0;
  return 'fromMs' in latency ? (latency.fromMs + latency.toMs) / 2 : latency.medianMs;
}
