import type { InventoryItem, SyncReport } from 'petstore-inventory';
import { isPetStoreError } from '../../src/errors.ts';
import { CALL_DEFAULTS } from '../../src/options/call-options.ts';
import type { Sent } from './network.ts';
import { FIRST_QUANTITY, type Job, type Made, type Played, quantityOf } from './play.ts';
import { PETS } from './story.ts';

/** What must not be, and was. */
export interface Violation {
  readonly truth: string;
  readonly what: string;
}

/** A call that is aborted, or out of time, ends within this. */
const PROMPT_MS = 50;
/** A report, its way to the store, and from there to the others. */
const MESSAGES_TO_PUBLISH = 3;
/** The clock of a process may run that much too slow. */
const DRIFT = 1.001;

/** A state of one pet. */
interface State {
  readonly fromMs: number;
  readonly toMs: number;
  readonly quantity: number;
}

/** What the service's own ledger says was done. */
class Deeds {
  readonly #states = new Map<number, State[]>();

  constructor({ sandbox }: Played) {
    for (const { petId, quantity, status, atMs } of sandbox.requests) {
      if (petId === undefined || quantity === undefined || status !== 200) continue;
      const states = this.statesOf(Number(petId));
      const last = states.pop();
      if (last) states.push({ ...last, toMs: atMs });
      this.#states.set(Number(petId), [...states, { fromMs: atMs, toMs: Number.POSITIVE_INFINITY, quantity }]);
    }
  }

  statesOf(petId: number): State[] {
    const untouched = petId <= PETS ? [{ fromMs: 0, toMs: Number.POSITIVE_INFINITY, quantity: FIRST_QUANTITY }] : [];
    return this.#states.get(petId) ?? untouched;
  }

  isDone(petId: number, quantity: number): boolean {
    return this.statesOf(petId).some((state) => state.quantity === quantity);
  }

  /** How often the pet was set. */
  updatesOf(petId: number): number {
    return this.statesOf(petId).length - (petId <= PETS ? 1 : 0);
  }
}

interface Evidence extends Played {
  readonly deeds: Deeds;
}

type Truth = (evidence: Evidence) => string[];

const TRUTHS: Record<string, Truth> = {
  'every call settles': ({ ending, made }) => {
    const open = made.filter((one) => one.endedMs === undefined && one.life.owner.isAlive).map(nameOf);
    return ending === 'done' ? open : [`the story ${ending}`, ...open];
  },
  'an end comes in time': ({ made }) => made.flatMap(lateness),
  'an attempt ends within its time limit': endless,
  'what resolved was done': (evidence) => updatesOf(evidence).flatMap((made) => undone(made, evidence)),
  'what was not sent or rejected was not done': (evidence) => updatesOf(evidence).flatMap((made) => doneAfterAll(made, evidence)),
  'updates of one pet leave in order': disorder,
  'attempts are requests': miscounted,
  'nothing is sent on a closed key': ({ network }) => network.sent.filter(({ isEarly }) => isEarly).map((sent) => `#${sent.number}`),
  'a closed key is closed for the fleet': sentByOthers,
  'no window is exceeded where all goes well': exceeded,
  'no more requests at once than allowed': ({ network, story }) =>
    story.processes.filter(({ name, client }) => (network.mostAtOnce.get(name) ?? 0) > (client.concurrency ?? 64)).map(({ name }) => name),
  'what started settled once': unsettled,
  'an adjustment is made once': misadjusted,
  'a job does what was wanted': ({ jobs, deeds, story }) => jobs.flatMap((job) => misdone(job, { deeds, failing: story.failing })),
  'a list gives states that were': ({ made, deeds }) => made.flatMap((one) => falseList(one, deeds)),
  'a view gives states that were, and none before an own update': (evidence) => evidence.made.flatMap((one) => falseView(one, evidence)),
  'changes are told without a gap, until the end': ({ made }) => made.flatMap(missedChanges),
  'nothing is left at the end': ({ leftovers }) => [...leftovers],
  'no rejection is unhandled': ({ unhandled }) =>
    unhandled.map((reason) => (reason instanceof Error ? (reason.stack ?? '') : String(reason))),
  'only errors of the package': ({ made }) => made.flatMap(foreignError),
};

/** What was not as it must be. */
export function judge(played: Played): Violation[] {
  const evidence = { ...played, deeds: new Deeds(played) };
  return Object.entries(TRUTHS).flatMap(([truth, test]) => test(evidence).map((what) => ({ truth, what })));
}

function nameOf({ act, life }: Made): string {
  return `${life.name} ${act.kind} ${act.id}`;
}

function lateness(made: Made): string[] {
  const { act, endedMs, beganMs, abortedMs, life } = made;
  if (endedMs === undefined) return [];
  const timeoutMs = 'options' in act && act.kind !== 'fetch' ? act.options.totalTimeoutMs : undefined;
  const dueMs = Math.min(abortedMs ?? Number.POSITIVE_INFINITY, beganMs + (timeoutMs ?? Number.POSITIVE_INFINITY) * DRIFT);
  // A job writes down what it was doing, and its disk may be slow.
  const promptMs = act.kind === 'job' ? PROMPT_MS + 20 * (life.settings.disk.writeMs + life.settings.disk.flushMs) : PROMPT_MS;
  return endedMs > dueMs + promptMs ? [`${nameOf(made)} ended ${endedMs - dueMs} ms late`] : [];
}

/** The limit covers the headers, and each piece of a body anew. A process that was killed ends nothing any more. */
function endless({ lives, network }: Evidence): string[] {
  const living = lives.filter(({ owner }) => owner.isAlive);
  const limits = new Map(
    living.map(({ name, number, settings: { client } }) => [
      `${name} ${number}`,
      client.attemptTimeoutMs ?? CALL_DEFAULTS.attemptTimeoutMs,
    ]),
  );
  return network.sent.flatMap(({ number, process, life, method, atMs, endedAtMs }) => {
    const limitMs = (method === 'PATCH' ? 1 : 3) * (limits.get(`${process} ${life}`) ?? Number.POSITIVE_INFINITY);
    const lateMs = (endedAtMs ?? atMs) - atMs - limitMs * DRIFT;
    return lateMs > PROMPT_MS ? [`#${number} ended ${Math.round(lateMs)} ms late`] : [];
  });
}

/** A process that was told of a closure reports it, and the store publishes it to the others. */
function sentByOthers({ story: { store, processes }, network, store: kept }: Evidence): string[] {
  if (kept && kept.wrongGrants.length > 0) return kept.wrongGrants.slice(0, 1);
  if (!store?.publishes || store.stalls.length + store.emptyAtMs.length + store.failovers.length > 0) return [];
  if (processes.some(({ crashes }) => crashes.length > 0)) return [];
  const travelMs = MESSAGES_TO_PUBLISH * 1.5 * store.latencyMs + PROMPT_MS;
  return network.closures.flatMap(({ process, toldAtMs, untilMs }) => {
    const openMs = untilMs - (untilMs - toldAtMs) * (DRIFT - 1) * 2 - PROMPT_MS;
    const isEarly = (sent: Sent) => sent.process !== process && sent.atMs > toldAtMs + travelMs && sent.atMs < openMs;
    const early = network.sent.filter(isEarly);
    return early.map(({ number }) => `#${number} left although ${process} knew of a closure`);
  });
}

type Update = Made & { readonly act: Extract<Made['act'], { kind: 'update' }> };

function isUpdate(made: Made): made is Update {
  return made.act.kind === 'update';
}

function updatesOf({ made }: Played): Update[] {
  return made.filter(isUpdate);
}

function settledOf({ life, callId }: Made) {
  return callId === undefined ? undefined : life.settled.get(callId);
}

function undone(made: Update, { deeds }: Evidence): string[] {
  const { act, reply } = made;
  if (!reply) return [];
  const wanted = reply.supersededBy === undefined ? quantityOf(act) : reply.data.quantity;
  if (reply.data.quantity !== wanted || Number(reply.data.petId) !== act.petId)
    return [`${nameOf(made)} resolved with ${JSON.stringify(reply.data)}`];
  return deeds.isDone(act.petId, wanted) ? [] : [`${nameOf(made)} resolved`];
}

function doneAfterAll(made: Update, { deeds, network }: Evidence): string[] {
  const { act } = made;
  const outcome = settledOf(made)?.outcome;
  const told = isPetStoreError(made.error) ? made.error.outcome : outcome;
  const own = network.sent.filter((sent) => isOf(sent, act));
  const wrong: string[] = [];
  if (made.error && told !== outcome && outcome !== 'superseded') wrong.push(`${nameOf(made)} told ${told}, its event ${outcome}`);
  if ((outcome === 'not-sent' || outcome === 'rejected' || outcome === 'superseded') && deeds.isDone(act.petId, quantityOf(act)))
    wrong.push(`${nameOf(made)} is told as ${outcome}, and was done`);
  if (outcome === 'not-sent' && own.some(({ arrivedAtMs }) => arrivedAtMs !== undefined))
    wrong.push(`${nameOf(made)} is told as not-sent, and arrived`);
  if (outcome === 'superseded' && own.length > 0) wrong.push(`${nameOf(made)} is told as superseded, and was sent`);
  if (outcome === 'unknown' && own.length === 0) wrong.push(`${nameOf(made)} is told as unknown, and was never sent`);
  return wrong;
}

function isOf(sent: Sent, act: Update['act']): boolean {
  return sent.petId === act.petId && sent.quantity === quantityOf(act);
}

/** The order of calls is that of the updates in `made`. */
function disorder(evidence: Evidence): string[] {
  const places = new Map(updatesOf(evidence).map((made, place) => [`${made.act.petId} ${quantityOf(made.act)}`, place]));
  const last = new Map<string, number>();
  return evidence.network.sent.flatMap((sent) => {
    const place = places.get(`${sent.petId} ${sent.quantity}`);
    if (place === undefined) return [];
    const line = `${sent.process} ${sent.life} ${sent.petId}`;
    const before = last.get(line) ?? -1;
    last.set(line, Math.max(place, before));
    return place < before ? [`#${sent.number} left after a later update of pet ${sent.petId}`] : [];
  });
}

function miscounted(evidence: Evidence): string[] {
  const { network, lives } = evidence;
  const ofUpdates = updatesOf(evidence).flatMap((made) => {
    const attempts = settledOf(made)?.attempt;
    const sent = network.sent.filter((one) => isOf(one, made.act)).length;
    return attempts === undefined || attempts === sent ? [] : [`${nameOf(made)} tells of ${attempts} attempts, and sent ${sent} requests`];
  });
  // A life that was killed may have told of a request that did not leave.
  const ofLives = lives
    .filter(({ owner }) => owner.isAlive)
    .flatMap((life) => {
      const told = Array.from(life.requests.values()).reduce((sum, count) => sum + count, 0);
      const sent = network.sent.filter(({ process, life: number }) => process === life.name && number === life.number).length;
      return told === sent ? [] : [`${life.name} told of ${told} requests and sent ${sent}`];
    });
  return [...ofUpdates, ...ofLives];
}

/** Answers with 429 that a client which is alone on its key may meet, or a fleet with a store that works. */
const MOST_REFUSALS: Readonly<Record<string, number>> = { 'fixed-clock': 0, 'fixed-first': 0, 'sliding-log': 0, 'token-bucket': 1 };
/** A lease belongs to a window that turns. Where each request moves the Reset, each process of a fleet may meet one 429. */
const MOVING: ReadonlySet<unknown> = new Set(['sliding-log', 'token-bucket']);
const PLAIN: ReadonlySet<string> = new Set(['policy', 'ban', 'latency']);

function exceeded({ story, network }: Evidence): string[] {
  const { service, outages, processes, store } = story;
  const { tail, losses, cuts } = story.network;
  const isPlain = Object.keys(service).every((name) => PLAIN.has(name)) && tail + losses + cuts.length + outages.length === 0;
  const isShared = processes.length === 1 || (store && store.stalls.length + store.emptyAtMs.length + store.failovers.length === 0);
  if (!isPlain || !isShared || processes.some(({ crashes }) => crashes.length > 0)) return [];
  // Headers tell of the minute alone, so that the end of a day is foreseen only from a plan.
  const isDayKnown = processes.every(({ client: { plan } }) => typeof plan === 'object' && plan.requestsPerDay !== undefined);
  const isForeseen = (sent: Sent) => (isDayKnown || !sent.isOfDay) && isLimitKnown(sent, story, network.sent);
  const refused = network.sent.filter((sent) => sent.told === 429 && sent.atMs < network.calmSinceMs && isForeseen(sent));
  const isMoving = processes.length > 1 && MOVING.has(service.policy);
  const most = isMoving ? processes.length : (MOST_REFUSALS[String(service.policy)] ?? Number.POSITIVE_INFINITY);
  return refused.length > most ? [`${refused.length} answers with 429, such as that to #${refused[0]?.number}`] : [];
}

/** Without a plan, a process knows a limit from the first answer that it, or one that shares its store, was told. */
function isLimitKnown({ process, number }: Sent, { processes, store }: Evidence['story'], sent: readonly Sent[]): boolean {
  if (processes.some(({ name, client }) => name === process && client.plan !== undefined)) return true;
  return sent.some((one) => one.number < number && one.told !== undefined && (store !== undefined || one.process === process));
}

function unsettled({ lives }: Evidence): string[] {
  return lives
    .filter(({ owner }) => owner.isAlive)
    .flatMap(({ name, started, settled, settledAgain }) => {
      if (settledAgain.length > 0) return [`${name}: calls ${settledAgain.join(', ')} settled twice`];
      const open = started.filter((callId) => !settled.has(callId));
      return open.length === 0 && started.length === settled.size ? [] : [`${name}: calls ${open.join(', ')} started, and did not settle`];
    });
}

/** The deltas of a pet are powers of two, so that its quantity tells which were made. */
function misadjusted({ made, deeds, network }: Evidence): string[] {
  const pets = Map.groupBy(
    made.filter(({ act }) => act.kind === 'adjust'),
    ({ act }) => ('petId' in act ? act.petId : 0),
  );
  return [...pets].flatMap(([petId, adjustments]) => {
    if (wasOvertaken(petId, network.sent)) return [];
    const sum = (deeds.statesOf(petId).at(-1)?.quantity ?? FIRST_QUANTITY) - FIRST_QUANTITY;
    const most = adjustments.reduce((total, { act }) => total + ('delta' in act ? act.delta : 0), 0);
    if (sum < 0 || sum > most) return [`pet ${petId} changed by ${sum}, and all its adjustments together are ${most}`];
    return adjustments.flatMap((one) => {
      const delta = 'delta' in one.act ? one.act.delta : 0;
      const isMade = Math.floor(sum / delta) % 2 === 1;
      const outcome = one.endedMs === undefined ? 'open' : one.error === undefined ? 'succeeded' : outcomeOf(one);
      if (outcome === 'succeeded' && !isMade) return [`${nameOf(one)} resolved, and is not in ${sum}`];
      return (outcome === 'not-sent' || outcome === 'rejected') && isMade ? [`${nameOf(one)} is told as ${outcome}, and is in ${sum}`] : [];
    });
  });
}

/** A request that was given up arrived after a later one had left: it sets what was true before, and no client can call it back. */
function wasOvertaken(petId: number, sent: readonly Sent[]): boolean {
  const givenUp = sent.filter((one) => one.petId === petId && one.told === undefined);
  return givenUp.some(({ number, process, arrivedAtMs = 0 }) =>
    sent.some((later) => later.number > number && later.process === process && later.atMs < arrivedAtMs),
  );
}

function outcomeOf({ error }: Made): string {
  return isPetStoreError(error) ? (error.outcome ?? 'unknown') : 'unknown';
}

function misdone(
  { act, process, reports, requestsAfterEnd }: Job,
  { deeds, failing }: { deeds: Deeds; failing: readonly number[] },
): string[] {
  const report = reports.at(-1);
  const name = `${process} job ${act.id}`;
  if (!report?.finishedAt) return [`${name} was never finished: ${describe(report)}`];
  const failed = new Map(report.failed.map((one) => [Number(one.petId), one.error]));
  const wrong = requestsAfterEnd > 0 ? [`${name} sent ${requestsAfterEnd} requests after its end`] : [];
  for (const [petId, wanted] of wantedBy(act)) {
    const quantity = deeds.statesOf(petId).at(-1)?.quantity;
    const isFailed = failed.has(petId);
    if (isFailed && !failing.includes(petId) && !isRefusal(failed.get(petId)))
      wrong.push(`${name}: pet ${petId} failed: ${failed.get(petId)}`);
    if (!isFailed && petId <= PETS && quantity !== wanted) wrong.push(`${name}: pet ${petId} stands at ${quantity}, not at ${wanted}`);
    if (deeds.updatesOf(petId) > 0 && deeds.statesOf(petId).some((state, index) => index > 0 && state.quantity !== wanted))
      wrong.push(`${name}: pet ${petId} was set to ${deeds.statesOf(petId).map((state) => state.quantity)}, and ${wanted} was wanted`);
  }
  const pets = [...wantedBy(act).keys()];
  const updated = pets.filter((petId) => deeds.updatesOf(petId) > 0 && !failed.has(petId)).length;
  if (report.updated !== updated) wrong.push(`${name} reports ${report.updated} updated, the ledger ${updated}`);
  const missing = pets.filter((petId) => petId > PETS);
  if (String(report.missing.map(Number).sort()) !== String(missing.sort()))
    wrong.push(`${name} reports missing ${report.missing}, not ${missing}`);
  return wrong;
}

/** The service answered 400 to a request that it was told to answer so by chance. */
function isRefusal(error: unknown): boolean {
  return isPetStoreError(error) && error.kind === 'bad-request';
}

function describe(report: SyncReport | undefined): string {
  return report
    ? `${report.stopped ?? ''} ${report.failed.map(({ error }) => error.message).join(', ')} ${report.pending.length} pending`
    : 'no report';
}

function wantedBy({ wanted }: Job['act']): Map<number, number> {
  const quantities = new Map<number, number>();
  for (const { petId, quantity, adjust = 0 } of wanted) {
    const id = Number(petId);
    quantities.set(id, quantity ?? (quantities.get(id) ?? FIRST_QUANTITY) + adjust);
  }
  return quantities;
}

function falseList(made: Made, deeds: Deeds): string[] {
  const { act, value, beganMs, endedMs = Number.POSITIVE_INFINITY } = made;
  if ((act.kind !== 'list' && act.kind !== 'stream') || !Array.isArray(value)) return [];
  const most = act.kind === 'stream' ? (act.leavesAfter ?? PETS) : PETS;
  if (!made.error && value.length !== Math.min(most, PETS)) return [`${nameOf(made)} gave ${value.length} of ${most} pets`];
  return value
    .filter((item) => !wasWithin(item, { deeds, fromMs: beganMs, toMs: endedMs }))
    .map((item) => `${nameOf(made)} gave ${JSON.stringify(item)}`);
}

interface Within {
  readonly deeds: Deeds;
  readonly fromMs: number;
  readonly toMs: number;
}

function wasWithin({ petId, quantity }: InventoryItem, { deeds, fromMs, toMs }: Within): boolean {
  return deeds.statesOf(Number(petId)).some((state) => state.quantity === quantity && state.fromMs <= toMs && state.toMs >= fromMs);
}

function falseView(made: Made, evidence: Evidence): string[] {
  const { act, life, value, endedMs } = made;
  if ((act.kind !== 'get' && act.kind !== 'items') || endedMs === undefined || made.error) return [];
  const items: readonly InventoryItem[] = Array.isArray(value) ? value : Reflect.get({ value: value ? [value] : [] }, 'value');
  const wanted = act.kind === 'get' ? 1 : PETS;
  if (items.length !== wanted) return [`${nameOf(made)} gave ${items.length} of ${wanted} pets`];
  const { maxAgeMs, maxStaleMs } = life.settings.view;
  const age = 'maxAgeMs' in act && act.maxAgeMs !== undefined ? act.maxAgeMs : maxAgeMs;
  const oldestMs = age === 'quota' ? Number.POSITIVE_INFINITY : Math.max(age, maxStaleMs) * DRIFT;
  return items.flatMap((item) => {
    const span = { deeds: evidence.deeds, fromMs: made.beganMs - oldestMs - 1, toMs: endedMs };
    if (!wasWithin(item, span)) return [`${nameOf(made)} gave ${JSON.stringify(item)}`];
    const own = lastOwnUpdate(made, Number(item.petId), evidence);
    const states = evidence.deeds.statesOf(Number(item.petId)).map(({ quantity }) => quantity);
    return own !== undefined && states.lastIndexOf(item.quantity) < states.indexOf(own)
      ? [`${nameOf(made)} gave ${JSON.stringify(item)} after an own update to ${own}`]
      : [];
  });
}

/**
 * Each change begins where the one before ended, and the last ones are what the view held when the iteration was ended. Where nothing was
 * held, the first list is what changes are told against: then a pet's first change may begin anywhere.
 */
function missedChanges(made: Made): string[] {
  if (!made.told) return [];
  const { before, changes, after } = made.told;
  const known = new Map(before);
  const isFirst = (petId: number) => before.size === 0 && !known.has(petId);
  const gaps = changes.flatMap((change) => {
    const expected = isFirst(change.petId) ? change.before?.quantity : known.get(change.petId);
    if (change.after) known.set(change.petId, change.after.quantity);
    return change.before?.quantity === expected ? [] : [`${nameOf(made)} was told ${JSON.stringify(change)}, not from ${expected}`];
  });
  const missed = [...(after ?? [])].filter(([petId, quantity]) => !isFirst(petId) && known.get(petId) !== quantity);
  return [...gaps, ...missed.map(([petId, quantity]) => `${nameOf(made)} was not told that pet ${petId} has ${quantity}`)];
}

/** What the same client set last, and was told that it did, before the read began. */
function lastOwnUpdate({ life, beganMs }: Made, petId: number, { made }: Evidence): number | undefined {
  const own = made.filter((one) => one.life === life && isUpdate(one) && one.act.petId === petId && one.error === undefined);
  const before = own.filter(({ endedMs = Number.POSITIVE_INFINITY }) => endedMs < beganMs);
  return before.at(-1)?.reply?.data.quantity;
}

function foreignError(made: Made): string[] {
  const { error, abortedMs, act } = made;
  if (!error || isPetStoreError(error) || abortedMs !== undefined || error.name === 'JournalError') return [];
  // It ended as the later one did, which may have been aborted.
  if (settledOf(made)?.outcome === 'superseded') return [];
  return [`${nameOf(made)} rejected with ${error.name}: ${error.message} (${act.kind})`];
}
