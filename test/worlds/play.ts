import { PetStoreClient } from 'petstore-inventory';
import { createSandbox, type Sandbox, type SandboxRequest } from 'petstore-inventory/sandbox';
import { fieldOf } from '../../src/thrown.ts';
import { dueMs, idealMs } from './oracle.ts';
import { drawing, seeded } from './random.ts';
import { RetryAfterWatch } from './retry-after-watch.ts';
import { type Ending, VirtualTime } from './virtual-time.ts';
import { limitsOf, type World } from './world.ts';

/** Longer than any wait until midnight. */
const LONGEST_MS = 2 * 86_400_000;
const MOST_TIMERS = 200_000;
const EARLIER_MS = 5_000;
/** What the best client could not do without either: to notice, and to look whether a service that failed is back. */
const ALLOWED_MS = 1_000;
const ALLOWED_WITH_FAULTS_MS = 20_000;
/** The pet that others of the key update, by which the ledger tells their requests from the client's. */
const PET_OF_OTHERS = 1;

/** What a world did to a client, and the client to the service. */
export interface Outcome {
  readonly world: World;
  /** How the calls ended; anything but `done` is a call that never settled. */
  readonly ending: Ending;
  /** Requests sent before the end of a wait that a 429 had told the client. */
  readonly early: number;
  readonly bans: number;
  /** Answers with 429 to the client. */
  readonly rateLimited: number;
  /** Calls that failed for no reason of the world's. */
  readonly failed: readonly string[];
  /** How many times as long the calls took as with a client that knows the rules. */
  readonly slowness: number;
  readonly calls: number;
  readonly succeeded: number;
  readonly aborted: number;
  readonly isDaySpent: boolean;
  /** The service's ledger: when, what, with which status. */
  readonly ledger: readonly string[];
}

type Settled = { readonly kind: 'succeeded' | 'aborted' } | { readonly kind: 'failed'; readonly reason: string };

/** What a client of any make is told of a world. */
export interface Target {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly fetch: typeof globalThis.fetch;
  readonly settings: World['client'];
}

interface CallOptions {
  readonly signal: AbortSignal;
  readonly priority: 'low' | 'normal';
}

/** What the calls of a world are made with. */
export interface WorldClient {
  list(options: CallOptions): Promise<unknown>;
  update(petId: number, quantity: number, options: CallOptions): Promise<unknown>;
  close?(): void;
}

export type Connect = (target: Target) => WorldClient;

export const connectOurs: Connect = ({ settings, ...options }) => {
  const client = new PetStoreClient({ ...settings, ...options });
  return {
    list: (call) => client.listInventory(call),
    update: (petId, quantity, call) => client.updateInventory(petId, { quantity }, call),
    close: () => client.close(),
  };
};

/** Runs worlds one after the other, in virtual time. */
export class Player {
  readonly #time = new VirtualTime();
  readonly #restore = this.#time.install();

  /** Gives the globals back. */
  close(): void {
    this.#restore();
  }

  async play(world: World, connect: Connect = connectOurs): Promise<Outcome> {
    const time = this.#time;
    const startMs = world.startsAtMs + world.clientAheadMs;
    time.begin(startMs - EARLIER_MS, seeded(world.seed + 1));
    const serviceNow = () => Date.now() - world.clientAheadMs;
    const sandbox = serve(world, serviceNow);
    const others = new Others(sandbox, time);
    const game = new Game(world, { sandbox, time, serviceNow, connect });
    const work = this.#run(game, { others, startMs });
    const ending = await time.run(work, { untilMs: startMs + LONGEST_MS, mostTimers: MOST_TIMERS });
    others.stop();
    return game.judge(ending);
  }

  async #run(game: Game, { others, startMs }: { others: Others; startMs: number }): Promise<void> {
    const { world } = game;
    others.spend(world);
    await this.#time.wait(startMs - Date.now());
    if (world.other) void others.keepAsking(world.other, world.seed);
    await game.makeCalls();
  }
}

function serve(world: World, clock: () => number): Sandbox<'world'> {
  const { plan, load, service, seed } = world;
  return createSandbox({ ...service, plans: { world: limitsOf(plan) }, pets: load.calls + PET_OF_OTHERS, seed, clock });
}

/** Other programs with the same key, which wait as they are told. */
class Others {
  readonly #sandbox: Sandbox<'world'>;
  readonly #time: VirtualTime;
  #isStopped = false;

  constructor(sandbox: Sandbox<'world'>, time: VirtualTime) {
    this.#sandbox = sandbox;
    this.#time = time;
  }

  /** Spends a part of the quota at once, and no more than there is. */
  spend({ spent, plan, service }: World): void {
    const requests = Math.min(spent, plan.requestsPerDay ?? spent, service.burst ?? spent);
    for (let sent = 0; sent < requests; sent++) void this.#ask();
  }

  async keepAsking({ perMinute, atOnce }: NonNullable<World['other']>, seed: number): Promise<void> {
    const random = seeded(seed + 2);
    while (!this.#isStopped) {
      await this.#time.wait((-Math.log(1 - random()) * atOnce * 60_000) / perMinute);
      const waits = await Promise.all(Array.from({ length: atOnce }, () => this.#ask()));
      await this.#time.wait(Math.max(...waits));
    }
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Gives the milliseconds to wait, if the request was refused; a connection may be lost on purpose. */
  async #ask(): Promise<number> {
    const { baseUrl, fetch, keys } = this.#sandbox;
    const headers = { authorization: `Bearer ${keys.world}` };
    const ask = fetch(`${baseUrl}/inventory/${PET_OF_OTHERS}`, { method: 'PATCH', headers, body: '{"quantity":1}' });
    const answer = await ask.catch(() => undefined);
    if (answer === undefined || answer.status < 400) return 0;
    return (Number(answer.headers.get('retry-after') ?? '') || 60) * 1_000;
  }
}

interface Ground {
  readonly sandbox: Sandbox<'world'>;
  readonly time: VirtualTime;
  readonly serviceNow: () => number;
  readonly connect: Connect;
}

/** The client's side of one world. */
class Game {
  readonly world: World;
  readonly #ground: Ground;
  readonly #watch: RetryAfterWatch;
  readonly #clients: readonly WorldClient[];
  readonly #settled: Settled[] = [];
  #endMs: number;

  constructor(world: World, ground: Ground) {
    this.world = world;
    this.#ground = ground;
    this.#endMs = world.startsAtMs;
    this.#watch = new RetryAfterWatch(ground);
    const { keys, baseUrl } = ground.sandbox;
    const target = { settings: world.client, apiKey: keys.world, baseUrl, fetch: this.#watch.fetch };
    this.#clients = Array.from({ length: world.clients }, () => ground.connect(target));
  }

  async makeCalls(): Promise<void> {
    const { load } = this.world;
    const calls = Array.from({ length: load.calls }, (_, call) => call);
    if (load.kind !== 'loop') await Promise.all(calls.map((call) => this.#callWhenDue(call)));
    else await Promise.all(Array.from({ length: load.workers }, () => this.#callInTurn(calls)));
    for (const client of this.#clients) client.close?.();
  }

  async #callWhenDue(call: number): Promise<void> {
    const delayMs = dueMs(this.world.load, call);
    if (delayMs > 0) await this.#ground.time.wait(delayMs);
    await this.#call(call);
  }

  async #callInTurn(calls: number[]): Promise<void> {
    for (let call = calls.shift(); call !== undefined; call = calls.shift()) await this.#call(call);
  }

  async #call(call: number): Promise<void> {
    const { seed, aborted, low, lists, missing, load } = this.world;
    const draw = drawing(seed * 1_000 + call);
    const abort = new AbortController();
    if (draw.chance(aborted)) void this.#ground.time.wait(draw.log(1, 60_000)).then(() => abort.abort('aborted'));
    const client = this.#clients[call % this.#clients.length];
    const options = { signal: abort.signal, priority: draw.chance(low) ? 'low' : 'normal' } as const;
    const isMissing = draw.chance(missing);
    const petId = 1 + PET_OF_OTHERS + call + (isMissing ? load.calls : 0);
    const work = draw.chance(lists) ? client?.list(options) : client?.update(petId, call, options);
    const kind = await this.#outcomeOf(work, { isMissing, signal: abort.signal });
    this.#settled.push(kind);
    if (kind.kind === 'succeeded') this.#endMs = this.#ground.serviceNow();
  }

  async #outcomeOf(work: Promise<unknown> | undefined, call: { isMissing: boolean; signal: AbortSignal }): Promise<Settled> {
    try {
      await work;
      return { kind: 'succeeded' };
    } catch (error) {
      if (call.signal.aborted) return { kind: 'aborted' };
      if (call.isMissing && statusOf(error) === 404) return { kind: 'succeeded' };
      return { kind: 'failed', reason: String(error) };
    }
  }

  judge(ending: Ending): Outcome {
    const { world } = this;
    const { requests, bans, ...counts } = this.#ground.sandbox.report();
    const ledger = this.#ground.sandbox.requests;
    const failed = this.#settled.flatMap((settled) => (settled.kind === 'failed' ? [settled.reason] : []));
    const isDaySpent = (counts.byStatus[200] ?? 0) + (counts.byStatus[404] ?? 0) >= (world.plan.requestsPerDay ?? Number.POSITIVE_INFINITY);
    const isExplained = bans > 0 || isDaySpent || world.service.faults !== undefined;
    return {
      world,
      ending,
      early: this.#watch.early,
      bans,
      rateLimited: ledger.filter((request) => request.status === 429 && !isOfOthers(request)).length,
      failed: isExplained ? [] : failed,
      slowness: bans > 0 || isDaySpent ? 1 : this.#slowness(ledger),
      calls: world.load.calls,
      succeeded: this.#settled.filter(({ kind }) => kind === 'succeeded').length,
      aborted: this.#settled.filter(({ kind }) => kind === 'aborted').length,
      isDaySpent,
      ledger: ledger.map((request) => describeRequest(request, world)),
    };
  }

  #slowness(ledger: readonly SandboxRequest[]): number {
    const admitted = ledger.filter(({ status }) => status !== 429 && status !== 401);
    const requests = admitted.filter((request) => !isOfOthers(request)).length;
    const bestMs = idealMs(this.world, { requests, othersAtMs: admitted.filter(isOfOthers).map(({ atMs }) => atMs) });
    const allowedMs = this.world.service.faults === undefined ? ALLOWED_MS : ALLOWED_WITH_FAULTS_MS;
    return (this.#endMs - this.world.startsAtMs) / (bestMs + allowedMs);
  }
}

/** The status that an error tells, whichever client made it. */
function statusOf(error: unknown): unknown {
  return fieldOf(error, 'status') ?? fieldOf(fieldOf(error, 'response'), 'status');
}

function isOfOthers({ petId }: SandboxRequest): boolean {
  return petId === BigInt(PET_OF_OTHERS);
}

function describeRequest(request: SandboxRequest, { startsAtMs }: World): string {
  const { atMs, method, path, status, fault, duringPenalty } = request;
  const notes = [isOfOthers(request) && 'another program', duringPenalty && 'during a penalty', fault].filter(Boolean);
  const seconds = ((atMs - startsAtMs) / 1_000).toFixed(3).padStart(9);
  return `${seconds} s  ${status ?? '---'}  ${method} ${path}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`;
}
