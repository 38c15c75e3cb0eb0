import type { InventoryItem, PetStoreFailure, Reply, StockChange, StockView, SyncReport } from 'petstore-inventory';
import { createSandbox, type Fault, type Sandbox } from '../../src/sandbox/index.ts';
import { seeded } from '../worlds/random.ts';
import { type Ending, VirtualTime } from '../worlds/virtual-time.ts';
import { Disk } from './disk.ts';
import { Life, type World } from './life.ts';
import { Network } from './network.ts';
import { type Break, loadProgram } from './program.ts';
import { Store } from './store.ts';
import { type Act, PETS, type ProcessSettings, type Story } from './story.ts';
import { judge, type Violation } from './truths.ts';

/** Longer than any call may take. */
const LONGEST_MS = 100 * 3_600_000;
const MOST_TIMERS = 300_000;
/** After the last process is done, everything works again for so long before what is left is counted. */
const CALM_MS = 70_000;
const MOST_RUNS = 12;
const BACK_AFTER_MS = 1_000;
const PATIENCE_MS = 130_000;
const DAY_MS = 24 * 3_600_000;
export const FIRST_QUANTITY = 10;

/** One call, or one run of a job. */
export interface Made {
  readonly act: Act;
  readonly life: Life;
  readonly beganMs: number;
  callId: number | undefined;
  endedMs: number | undefined;
  abortedMs: number | undefined;
  value: unknown;
  /** Of an update. */
  reply: Reply<InventoryItem> | undefined;
  error: PetStoreFailure | Error | undefined;
  /** Of a consumer of changes. */
  told: Told | undefined;
}

/** What a consumer of changes was told, and what was held when it began and when it was ended. */
export interface Told {
  readonly before: ReadonlyMap<number, number>;
  readonly changes: StockChange[];
  readonly after: ReadonlyMap<number, number> | undefined;
}

/** A job over all its runs. */
export interface Job {
  readonly act: Extract<Act, { kind: 'job' }>;
  readonly process: string;
  readonly reports: SyncReport[];
  /** Requests of the run that found the job finished. */
  requestsAfterEnd: number;
}

/** What a story came to. */
export interface Played {
  readonly story: Story;
  readonly ending: Ending;
  readonly sandbox: Sandbox<'plan'>;
  readonly network: Network;
  readonly store: Store | undefined;
  readonly made: readonly Made[];
  readonly jobs: readonly Job[];
  readonly lives: readonly Life[];
  readonly time: VirtualTime;
  /** What was left of each life after its client was closed. */
  readonly leftovers: readonly string[];
  readonly unhandled: readonly unknown[];
}

export interface Outcome {
  readonly story: Story;
  /** How many steps the first life took. */
  readonly steps: number;
  /** How often a process was killed or lost its power. */
  readonly deaths: number;
  readonly violations: readonly Violation[];
  readonly log: readonly string[];
}

/** Plays stories one after the other, in virtual time. */
export class Simulator {
  readonly #time = new VirtualTime();
  readonly #restore = this.#time.install();
  readonly #start: World['start'];

  private constructor(start: World['start']) {
    this.#start = start;
  }

  /** @param fault is put into the source, to see whether it is found */
  static async load(fault?: Break): Promise<Simulator> {
    return new Simulator(await loadProgram(fault));
  }

  /** Gives the globals back. */
  close(): void {
    this.#restore();
  }

  async play(story: Story): Promise<Outcome> {
    this.#time.begin(story.startsAtMs, seeded(story.seed + 1), { isShuffled: true });
    const log: string[] = [];
    const tell = (line: string) => log.push(`${((this.#time.nowMs - story.startsAtMs) / 1_000).toFixed(3).padStart(9)}  ${line}`);
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    const play = new Play(story, { time: this.#time, start: this.#start, tell });
    const ending = await this.#time.run(play.run(), { untilMs: story.startsAtMs + LONGEST_MS, mostTimers: MOST_TIMERS });
    process.off('unhandledRejection', onUnhandled);
    const played = play.told(ending, unhandled);
    return { story, violations: judge(played), log, steps: played.lives[0]?.steps ?? 0, deaths: play.deaths };
  }
}

interface Stage {
  readonly time: VirtualTime;
  readonly start: World['start'];
  readonly tell: (line: string) => void;
}

class Play {
  readonly #story: Story;
  readonly #stage: Stage;
  readonly #sandbox: Sandbox<'plan'>;
  readonly #world: World;
  readonly #made: Made[] = [];
  readonly #jobs = new Map<number, Job>();
  readonly #lives: Life[] = [];
  readonly #leftovers: string[] = [];
  /** Told when a life ends at a step. */
  readonly #onDeath = new Map<Life, () => void>();
  deaths = 0;
  #isCalm = false;

  constructor(story: Story, stage: Stage) {
    this.#story = story;
    this.#stage = stage;
    const { time, start, tell } = stage;
    const startMs = story.startsAtMs;
    this.#sandbox = serve(story, { time, isCalm: () => this.#isCalm });
    const { keys, baseUrl, fetch } = this.#sandbox;
    this.#world = {
      time,
      startMs,
      start,
      step: (life) => this.#step(life),
      address: { apiKey: keys.plan, baseUrl },
      network: new Network({ time, startMs, tell, settings: story.network, service: fetch }),
      store: story.store && new Store(time, story.store, { startMs, tell }),
    };
  }

  told(ending: Ending, unhandled: readonly unknown[]): Played {
    return {
      story: this.#story,
      ending,
      unhandled,
      sandbox: this.#sandbox,
      network: this.#world.network,
      store: this.#world.store,
      made: this.#made,
      jobs: [...this.#jobs.values()],
      lives: this.#lives,
      time: this.#stage.time,
      leftovers: this.#leftovers,
    };
  }

  async run(): Promise<void> {
    const survivors = await Promise.all(this.#story.processes.map((process, index) => this.#live(process, index)));
    this.#isCalm = true;
    this.#world.network.calmSinceMs = this.#stage.time.nowMs;
    this.#stage.tell('all works again');
    for (const life of survivors) life.close();
    await Promise.all(survivors.map((life, index) => this.#finishJobs(life, index)));
    await this.#stage.time.wait(CALM_MS);
    for (const life of this.#lives.filter(({ owner }) => owner.isAlive)) this.#countLeftovers(life);
  }

  /** One process with all its crashes; gives the life that lasts. */
  async #live(settings: ProcessSettings, index: number): Promise<Life> {
    const { time } = this.#stage;
    const disk = new Disk(time, diskOf(settings, this.#story), seeded(this.#story.seed * 13 + index));
    let sinceMs = 0;
    for (const crash of settings.crashes) {
      const life = this.#begin(settings, { number: this.#lives.length, disk, index });
      void this.#act(life, { fromMs: sinceMs, toMs: crash.atMs });
      await time.wait(Math.max(1, crash.atMs - this.#sinceStartMs));
      this.#crash(life, crash.isPower);
      await time.wait(crash.backAfterMs);
      sinceMs = this.#sinceStartMs;
    }
    for (const death of settings.deaths ?? []) {
      const life = this.#begin(settings, { number: this.#lives.length, disk, index });
      const died = new Promise<true>((resolve) => this.#onDeath.set(life, () => resolve(true)));
      const act = this.#act(life, { fromMs: sinceMs, toMs: Number.POSITIVE_INFINITY });
      if (!(await Promise.race([died, act]))) return life;
      this.#crash(life, death.isPower);
      await time.wait(BACK_AFTER_MS);
      sinceMs = this.#sinceStartMs;
    }
    const life = this.#begin(settings, { number: this.#lives.length, disk, index });
    await this.#act(life, { fromMs: sinceMs, toMs: Number.POSITIVE_INFINITY });
    return life;
  }

  /** Does not resolve where the life ends here. */
  async #step(life: Life): Promise<void> {
    life.steps += 1;
    const lives = this.#lives.filter(({ name }) => name === life.name).indexOf(life);
    if (life.settings.deaths?.[lives]?.atStep !== life.steps) return;
    life.owner.isAlive = false;
    this.#onDeath.get(life)?.();
    await new Promise(() => {});
  }

  get #sinceStartMs(): number {
    return this.#stage.time.nowMs - this.#story.startsAtMs;
  }

  #begin(settings: ProcessSettings, { number, disk, index }: { number: number; disk: Disk; index: number }): Life {
    this.#stage.tell(`${settings.name} starts`);
    const life = new Life(this.#world, settings, { number, disk, id: 1 + index * 1_000 + number });
    this.#lives.push(life);
    return life;
  }

  #crash(life: Life, isPower: boolean): void {
    this.#stage.tell(`${life.name} ${isPower ? 'loses its power' : 'is killed'}`);
    this.deaths += 1;
    life.kill();
    if (isPower) life.disk.losePower();
  }

  /** What a process does in its life, the jobs of earlier lives first. */
  async #act(life: Life, { fromMs, toMs }: { fromMs: number; toMs: number }): Promise<void> {
    const { acts } = life.settings;
    const isOwn = (act: Act) => act.atMs >= fromMs && act.atMs < toMs;
    const isUnfinished = (act: Act) => act.kind === 'job' && act.atMs < fromMs;
    const due = acts.filter((act) => isOwn(act) || isUnfinished(act));
    await Promise.all(due.map((act) => this.#actWhenDue(life, act)));
  }

  async #actWhenDue(life: Life, act: Act): Promise<void> {
    const delayMs = act.atMs - this.#sinceStartMs;
    if (delayMs > 0) await this.#stage.time.wait(delayMs, life.owner);
    await this.#make(life, act);
  }

  async #make(life: Life, act: Act): Promise<Made> {
    const { time, tell } = this.#stage;
    const none = {
      callId: undefined,
      endedMs: undefined,
      abortedMs: undefined,
      value: undefined,
      reply: undefined,
      error: undefined,
      told: undefined,
    };
    const made: Made = { act, life, beganMs: time.nowMs, ...none };
    this.#made.push(made);
    tell(`${life.name} ${describeAct(act)}`);
    if (life.isClosed) made.abortedMs = time.nowMs;
    const abort = life.newSignal(`${act.kind} ${act.id}`);
    const startedBefore = life.started.length;
    const work = this.#perform(made, abort.signal);
    made.callId = life.started[startedBefore];
    if (act.abortAfterMs !== undefined) this.#abortLater(made, { abort, afterMs: act.abortAfterMs });
    try {
      made.value = await work;
    } catch (error) {
      made.error = error instanceof Error ? error : new Error(String(error));
    }
    made.endedMs = time.nowMs;
    tell(`${life.name} ${act.kind} ${act.id} ends: ${describeEnd(made)}`);
    return made;
  }

  #abortLater(made: Made, { abort, afterMs }: { abort: AbortController; afterMs: number }): void {
    const end = () => {
      if (made.endedMs !== undefined) return;
      made.abortedMs = this.#stage.time.nowMs;
      this.#stage.tell(`${made.life.name} aborts ${made.act.kind} ${made.act.id}`);
      abort.abort(new DOMException('told to', 'AbortError'));
    };
    if (afterMs === 0) end();
    else void this.#stage.time.wait(afterMs, made.life.owner).then(end);
  }

  /** Ends what is under way in a life, as an abort would. */
  #closeClient(life: Life): void {
    for (const made of this.#made) if (made.life === life && made.endedMs === undefined) made.abortedMs ??= this.#stage.time.nowMs;
    life.closeClient();
  }

  async #perform(made: Made, signal: AbortSignal): Promise<unknown> {
    const { act, life } = made;
    const { client } = life;
    switch (act.kind) {
      case 'update':
        made.reply = await client.updateInventory(act.petId, { quantity: quantityOf(act) }, { ...act.options, signal }).withResponse();
        return undefined;
      case 'list':
        return client.listInventory({ ...act.options, signal });
      case 'stream':
        return readStream(client.streamInventory({ ...act.options, signal }), act.leavesAfter);
      case 'fetch':
        return fetchOther(life, act, signal);
      case 'get':
        return life.view.get(act.petId, { signal, ...(act.maxAgeMs !== undefined && { maxAgeMs: act.maxAgeMs }) });
      case 'changes':
        return this.#follow(made, act, signal);
      case 'close':
        return this.#closeClient(life);
      case 'items':
        return [...(await life.view.items({ signal }))];
      case 'refresh':
        return life.view.refresh({ signal });
      case 'adjust':
        return life.view.adjust(act.petId, act.delta, { signal });
      case 'job':
        return this.#runJob(life, act, signal);
    }
  }

  /** Takes changes until the signal ends; at that instant what was told and what the view holds have to be the same. */
  async #follow(made: Made, { maxAgeMs }: { maxAgeMs: number }, signal: AbortSignal): Promise<void> {
    const { view } = made.life;
    const told: Told = { before: stockOf(view), changes: [], after: undefined };
    made.told = told;
    const onAbort = () => Object.assign(told, { after: stockOf(view) });
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      for await (const change of view.changes({ signal, maxAgeMs })) told.changes.push(change);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #runJob(life: Life, act: Extract<Act, { kind: 'job' }>, signal?: AbortSignal): Promise<SyncReport> {
    const job = this.#jobs.get(act.id) ?? { act, process: life.name, reports: [], requestsAfterEnd: 0 };
    this.#jobs.set(act.id, job);
    const { syncInventory, fileJournal } = life.program;
    const journal = fileJournal(`job-${act.id}.journal`);
    const report = await syncInventory(life.client, act.wanted, { journal, concurrency: act.concurrency, ...(signal && { signal }) });
    job.reports.push(report);
    return report;
  }

  /** Runs each job of a process, in one that is as patient as it is by default, until its journal says that it is finished. */
  async #finishJobs({ settings, disk }: Life, index: number): Promise<void> {
    const jobs = settings.acts.filter((act) => act.kind === 'job' && this.#jobs.has(act.id));
    if (jobs.length === 0) return;
    const life = this.#begin({ ...settings, client: {} }, { number: this.#lives.length, disk, index });
    for (const act of jobs) await this.#finish(life, act);
    life.close();
  }

  async #finish(life: Life, act: Act): Promise<void> {
    const job = this.#jobs.get(act.id);
    for (let run = 0; run < MOST_RUNS && !job?.reports.at(-1)?.finishedAt; run++) {
      if (run > 0) await this.#stage.time.wait(job?.reports.at(-1)?.stopped === 'quota' ? DAY_MS : PATIENCE_MS, life.owner);
      const sentBefore = this.#sentBy(life);
      await this.#make(life, { ...act, abortAfterMs: undefined });
      if (job) job.requestsAfterEnd = this.#sentBy(life) - sentBefore;
    }
  }

  #sentBy({ name }: Life): number {
    return this.#world.network.sent.filter(({ process }) => process === name).length;
  }

  #countLeftovers(life: Life): void {
    const timers = this.#stage.time.timersLeft(life.owner);
    if (timers > 0) this.#leftovers.push(`${life.name}: ${timers} timers`);
    for (const name of life.listeningTo) this.#leftovers.push(`${life.name}: a listener of ${name}`);
    const files = life.disk.openFilesOf(life.owner);
    if (files > 0) this.#leftovers.push(`${life.name}: ${files} open files`);
    for (const { number, process, life: ofLife, told, endedAtMs } of this.#world.network.sent)
      if (process === life.name && ofLife === life.number && told !== undefined && endedAtMs === undefined)
        this.#leftovers.push(`${life.name}: the body of the answer to #${number}`);
  }
}

function diskOf({ disk }: ProcessSettings, { startsAtMs }: Story): ProcessSettings['disk'] {
  if (!disk.full) return disk;
  return { ...disk, full: { fromMs: startsAtMs + disk.full.fromMs, toMs: startsAtMs + disk.full.toMs } };
}

function serve(story: Story, { time, isCalm }: { time: VirtualTime; isCalm: () => boolean }): Sandbox<'plan'> {
  const { perMinute, perDay, service, outages, failing, startsAtMs, seed } = story;
  const isIn = ({ fromMs, toMs }: { fromMs: number; toMs: number }) => time.nowMs - startsAtMs >= fromMs && time.nowMs - startsAtMs < toMs;
  const faults: Fault[] = [
    ...failing.map((petId) => ({ when: (request: { petId: bigint | undefined }) => request.petId === BigInt(petId), status: 400 })),
    ...outages.flatMap((span) => outageOf(span, () => !isCalm() && isIn(span))),
    ...(service.faults ?? []).map((fault) => ({ ...fault, when: () => !isCalm() })),
  ];
  const plans = { plan: { requestsPerMinute: perMinute, ...(perDay !== undefined && { requestsPerDay: perDay }) } };
  const pets = Array.from({ length: PETS }, (_, index) => ({ petId: index + 1, quantity: FIRST_QUANTITY }));
  const latency = () => (isCalm() ? 1 : (service.latency ?? 0));
  return createSandbox({ ...service, latency, plans, pets, seed, faults, clock: () => time.nowMs });
}

/** Where the service says how long to wait, it does not say the same to all. */
function outageOf({ status, retryAfter }: Story['outages'][number], when: () => boolean): Fault[] {
  if (retryAfter === undefined) return [{ when, status }];
  return retryAfter.map((seconds, index) => ({
    when,
    status,
    headers: { 'retry-after': String(seconds) },
    rate: 1 / (retryAfter.length - index),
  }));
}

/** Every update of its own kind, so that the ledger tells whose it was. */
export function quantityOf({ id }: { id: number }): number {
  return 1_000 + id;
}

async function readStream(
  stream: AsyncIterable<{ petId: number; quantity: number }>,
  leavesAfter = Number.POSITIVE_INFINITY,
): Promise<unknown> {
  const items: unknown[] = [];
  if (leavesAfter === 0) return items;
  for await (const item of stream) {
    items.push(item);
    if (items.length >= leavesAfter) break;
  }
  return items;
}

async function fetchOther({ client }: Life, act: Extract<Act, { kind: 'fetch' }>, signal: AbortSignal): Promise<unknown> {
  const response = await client.fetch('/pets/42', { signal });
  if (act.isRead) await response.text();
  return response.status;
}

/** The quantities that a view holds. */
function stockOf(view: StockView): Map<number, number> {
  const held = Array.from({ length: PETS }, (_, index) => view.peek(index + 1));
  return new Map(held.flatMap((item) => (item ? [[item.petId, item.quantity]] : [])));
}

function describeAct(act: Act): string {
  if (act.kind === 'update') return `update ${act.id} of ${act.petId} ${JSON.stringify(act.options)}`;
  if (act.kind === 'job') return `job ${act.id} ${JSON.stringify(act.wanted)}`;
  if (act.kind === 'adjust') return `adjust ${act.id} of ${act.petId} by ${act.delta}`;
  return `${act.kind} ${act.id}`;
}

function describeEnd({ error, value }: Made): string {
  if (error === undefined) return 'done';
  const { name } = error;
  const code = 'code' in error ? ` ${error.code}` : '';
  const outcome = 'outcome' in error ? ` ${error.outcome}` : '';
  return `${name}${code}${outcome}${value === undefined ? '' : ' with a value'}`;
}
