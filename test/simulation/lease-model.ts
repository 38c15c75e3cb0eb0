import { MINUTE_MS, type PlanLimits } from '../../src/contract/plans.ts';
import { emptyRecord, type exchangeLease, type QuotaRecord, type RecordedMinute } from '../../src/node/quota-record.ts';
import { type LeaseRequest, type LeaseResponse, UNLIMITED } from '../../src/quota-store.ts';
import { leaseRequestOf } from '../support/lease-request.ts';

/** The rules of leases, as a file and Redis keep them. */
export type Rules = typeof exchangeLease;

/** How much is explored. */
export interface Scope {
  readonly processes: number;
  /** Requests in a window. */
  readonly limit: number;
  /** Into how many turns a window is cut; processes act at the beginning of each, and once more in it. */
  readonly turns: number;
  /** Whether the processes know the limit from their options, or from headers alone. */
  readonly knowsPlan: boolean;
}

/** The window under way begins here: every window ends after a minute, and all instants are moved back by that. */
export const WINDOW_BEGINS_MS = 1_800_000_000_000;
const WINDOW_ENDS_MS = WINDOW_BEGINS_MS + MINUTE_MS;
/** After so long a probe is given up, and a process counts as gone. */
const MOMENT_MS = 1_001;
/** What is older holds for every instant of the window alike. */
const OLD_MS = WINDOW_BEGINS_MS - 2 * MINUTE_MS;
/** Counts of the plan are cut into slots of this length, of which thirteen are kept. */
const SLOT_MS = 5_000;
const SLOTS_KEPT = 12;

/** One process: what it holds, what it has sent, and what it knows. */
interface Member {
  readonly slots: number;
  readonly expiresAtMs: number;
  /** 0 where the window of the lease is not known. */
  readonly leaseResetAtMs: number;
  readonly isProbe: boolean;
  /** A request without an answer: whether it left before this window, and whether it is a probe. */
  readonly sent: { readonly isLate: boolean; readonly isProbe: boolean } | undefined;
  /** What headers said of this window; nothing closes a key before its end, so that when they did does not matter. */
  readonly observed: { readonly remaining: number } | undefined;
  /** What late answers said of this window. */
  readonly late: readonly number[];
  readonly closedUntilMs: number;
}

/** Everything that what comes next depends on. */
export interface State {
  readonly nowMs: number;
  /** Requests that the service accepted in this window. */
  readonly used: number;
  /**
   * Slots that were granted in this window and neither returned nor left to expire, but probes that took the place of one without answer.
   */
  readonly granted: number;
  /** The service may refuse: it counted a request that had left before this window, or two probes. */
  readonly isBlurred: boolean;
  readonly record: QuotaRecord;
  readonly members: readonly Member[];
}

/** One request to the store, which Redis has to answer alike. */
export interface Exchange {
  readonly before: QuotaRecord;
  readonly request: LeaseRequest;
  readonly nowMs: number;
  readonly response: LeaseResponse;
  readonly after: QuotaRecord;
}

type Asked = Pick<LeaseRequest, 'wanted'> & Partial<Pick<LeaseRequest, 'isProbeAnswered'>>;

/** What may happen next. */
export interface Transition {
  readonly name: string;
  readonly state: State;
  readonly exchange?: Exchange;
  /** What of it must not be. */
  readonly wrong: readonly string[];
}

const NEWCOMER: Member = {
  slots: 0,
  expiresAtMs: 0,
  leaseResetAtMs: 0,
  isProbe: false,
  sent: undefined,
  observed: undefined,
  late: [],
  closedUntilMs: 0,
};
const NO_LEASE = { slots: 0, expiresAtMs: 0, leaseResetAtMs: 0, isProbe: false } as const;

/** A service, a store of its quota, and the processes that share it, in steps. Every step gives new states; none changes one. */
export class LeaseModel {
  readonly #scope: Scope;
  readonly #rules: Rules;
  readonly #plan: Partial<PlanLimits>;

  constructor(scope: Scope, rules: Rules) {
    this.#scope = scope;
    this.#rules = rules;
    this.#plan = scope.knowsPlan ? { requestsPerMinute: scope.limit, requestsPerDay: UNLIMITED } : {};
  }

  /** Where nobody has asked for anything. */
  first(): State {
    const members = Array.from({ length: this.#scope.processes }, () => NEWCOMER);
    return { nowMs: WINDOW_BEGINS_MS, used: 0, granted: 0, isBlurred: false, record: emptyRecord(), members };
  }

  /** All that may happen next. */
  *next(state: State): Generator<Transition> {
    for (const index of state.members.keys()) {
      if (this.mayAsk(state, index)) yield this.ask(state, index);
      if (state.members[index]?.slots) yield this.#giveBack(state, index);
      if (maySend(state, index)) yield { name: `${nameOf(index)} sends`, state: send(state, index), wrong: [] };
      if (state.members[index]?.sent) yield* this.answer(state, index);
    }
    const moment = this.#momentAfter(state);
    if (moment) yield { name: 'a second passes', state: moment, wrong: [] };
    yield { name: 'a turn passes', state: this.turn(state), wrong: [] };
  }

  /** Whether a process would ask for a slot: it has none, and knows nothing that forbids one. */
  mayAsk({ members, nowMs }: State, index: number): boolean {
    const member = members[index];
    return member !== undefined && member.slots === 0 && member.closedUntilMs <= nowMs && !knowsNoneLeft(member);
  }

  ask(state: State, index: number, isProbeAnswered = false): Transition {
    const { state: after, exchange } = this.#exchange(state, index, { wanted: 1, isProbeAnswered });
    const { granted, reason, waitMs } = exchange.response;
    const name = `${nameOf(index)} asks: ${granted > 0 ? `${granted} ` : ''}${reason}`;
    const wrong = granted === 0 && waitMs <= 0 ? [`it is refused, and told to wait ${waitMs} ms`] : [];
    return { name, state: after, exchange, wrong: [...wrong, ...this.#wrongIn(after)] };
  }

  /** What is returned is there again: if not for this process, then for another one. */
  #giveBack(state: State, index: number): Transition {
    const { state: after, exchange } = this.#exchange(state, index, { wanted: 0 });
    const wrong = [...this.#wrongIn(after), ...this.#wrongReturn(after, exchange)];
    return { name: `${nameOf(index)} returns ${exchange.request.returned}`, state: after, exchange, wrong };
  }

  #wrongReturn(state: State, { before, request, after, nowMs }: Exchange): string[] {
    const { returned, returnedResetAtMs, minute } = request;
    if (returned === 0 || !isKnown(after, nowMs) || !isKnown(before, nowMs) || before.minute?.resetAtMs !== returnedResetAtMs) return [];
    const observed = minute && minute.endsInMs > 0 && nowMs - minute.ageMs >= before.closedUntilMs ? minute.remaining : UNLIMITED;
    const due = Math.min(before.minute.left + returned, observed);
    if (after.minute?.left !== due) return [`${returned} returned, and ${after.minute?.left} are left, not ${due}`];
    // Requests that nobody foresaw may have taken it.
    const isDue = !state.isBlurred && due > state.members.filter(({ sent }) => sent).length && after.closedUntilMs <= nowMs;
    return isDue && !this.#isAnyGranted(state) ? [`${returned} returned, and no process gets one`] : [];
  }

  #isAnyGranted(state: State): boolean {
    return state.members.some((_, index) => this.#exchange(state, index, { wanted: 1 }).exchange.response.granted > 0);
  }

  /** A probe that was given up may be counted beside the one that took its place. */
  #wrongIn({ granted, record, nowMs }: State): string[] {
    const { limit } = this.#scope;
    if (granted > limit) return [`${granted} granted, the limit is ${limit}`];
    const left = record.minute && isKnown(record, nowMs) && record.minute.limit <= limit ? record.minute.left : 0;
    if (left < 0) return [`${left} are left`];
    return left + granted > limit ? [`${granted} granted and ${left} left, the limit is ${limit}`] : [];
  }

  #exchange(state: State, index: number, asked: Asked): { state: State; exchange: Exchange } {
    const { nowMs, record: before } = state;
    const request = this.#requestOf(state, index, asked);
    const record = copyOf(before);
    const response = this.#rules(record, request, nowMs);
    const held = state.members[index] ?? NEWCOMER;
    const isDoubled = response.granted > 0 && response.reason === 'probe' && state.members.some(isProbing);
    const granted = state.granted + (isDoubled ? 0 : response.granted) - request.returned;
    const member = { ...held, ...(asked.wanted === 0 && NO_LEASE), ...heldAfter(held, response, nowMs) };
    const after = { ...state, granted, isBlurred: state.isBlurred || isDoubled, record, members: state.members.with(index, member) };
    return { state: after, exchange: { before, request, nowMs, response, after: record } };
  }

  #requestOf({ members, nowMs }: State, index: number, { wanted, isProbeAnswered = false }: Asked): LeaseRequest {
    const { slots, leaseResetAtMs, sent, observed, late, closedUntilMs } = members[index] ?? NEWCOMER;
    return leaseRequestOf({
      member: nameOf(index),
      wanted,
      returned: slots,
      returnedResetAtMs: leaseResetAtMs,
      unanswered: sent ? 1 : 0,
      lateAnswers: late.map((remaining) => ({ resetAtMs: WINDOW_ENDS_MS, remaining })),
      plan: this.#plan,
      minute: observed && {
        limit: this.#scope.limit,
        remaining: observed.remaining,
        resetAtMs: WINDOW_ENDS_MS,
        endsInMs: WINDOW_ENDS_MS - nowMs,
        ageMs: 0,
      },
      isProbeAnswered,
      closedForMs: Math.max(0, closedUntilMs - nowMs),
    });
  }

  /**
   * The service counts a request, or refuses it until the window ends. Its process reports at once what others wait for, as a client does.
   */
  *answer(state: State, index: number): Generator<Transition> {
    const sent = state.members[index]?.sent;
    const isRefused = state.used >= this.#scope.limit;
    const answered = isRefused ? this.#refuse(state, index) : this.#accept(state, index);
    const wrong = isRefused && !sent?.isLate && !state.isBlurred ? ['refused, and all was granted in this window'] : [];
    const name = `${nameOf(index)} is answered ${isRefused ? 429 : answered.members[index]?.observed?.remaining}`;
    const isProbeAnswered = sent?.isProbe === true;
    if (!isRefused && !isProbeAnswered) return yield { name, state: answered, wrong };
    const reported = this.#exchange(answered, index, { wanted: 0, isProbeAnswered });
    yield { ...reported, name: `${name}, and reports`, wrong: [...wrong, ...this.#wrongIn(reported.state)] };
    if (!this.mayAsk(answered, index)) return;
    const asked = this.ask(answered, index, isProbeAnswered);
    yield { ...asked, name: `${name}, ${asked.name}`, wrong: [...wrong, ...asked.wrong] };
  }

  #accept(state: State, index: number): State {
    const member = state.members[index] ?? NEWCOMER;
    const remaining = this.#scope.limit - state.used - 1;
    const isLate = member.sent?.isLate === true;
    const late = isLate ? [...member.late, remaining] : member.late;
    const answered = { ...member, sent: undefined, late, ...observe(member, remaining) };
    return { ...state, used: state.used + 1, isBlurred: state.isBlurred || isLate, members: state.members.with(index, answered) };
  }

  #refuse(state: State, index: number): State {
    const member = state.members[index] ?? NEWCOMER;
    const refused = { ...member, sent: undefined, closedUntilMs: WINDOW_ENDS_MS, ...observe(member, 0) };
    return { ...state, members: state.members.with(index, refused) };
  }

  /** Which processes get a slot where they act in turns, each as soon as it may, in this many windows. */
  servedFrom(state: State, { order, windows }: { order: readonly number[]; windows: number }): Set<number> {
    const served = new Set<number>();
    let now = state;
    for (let turns = 0; turns < windows * this.#scope.turns && served.size < order.length; ) {
      const before = now;
      for (const index of order) {
        const after = this.#act(now, index);
        if ((after.members[index]?.slots ?? 0) > 0) served.add(index);
        now = after;
      }
      if (now !== before) continue;
      const moment = this.#momentAfter(now);
      now = moment ?? this.turn(now);
      turns += moment ? 0 : 1;
    }
    return served;
  }

  /** The next step of a process that has something to do; the same state where it has to wait. */
  #act(state: State, index: number): State {
    if (maySend(state, index)) return send(state, index);
    if (state.members[index]?.sent) return [...this.answer(state, index)].at(-1)?.state ?? state;
    if (!this.mayAsk(state, index)) return state;
    const asked = this.ask(state, index);
    return asked.exchange?.response.granted === 0 ? state : asked.state;
  }

  /** Later in the same turn, once: probes are given up by then. */
  #momentAfter(state: State): State | undefined {
    const turnMs = MINUTE_MS / this.#scope.turns;
    return (state.nowMs - WINDOW_BEGINS_MS) % turnMs === 0 ? at(state, state.nowMs + MOMENT_MS) : undefined;
  }

  /** At the beginning of the next turn, which may be that of the next window. */
  turn(state: State): State {
    const turnMs = MINUTE_MS / this.#scope.turns;
    const turned = Math.floor((state.nowMs - WINDOW_BEGINS_MS) / turnMs) + 1;
    return at(state, WINDOW_BEGINS_MS + turned * turnMs);
  }

  /**
   * The same state for all that can still happen: without what is over, and with processes that differ in their names alone in one order.
   */
  normalize(state: State): State {
    const record = normalRecord(state, this.#scope.knowsPlan);
    const members = state.members.map((member, index) => normalMember(member, { ...state, record, index }));
    const ranks = members.map((member, index) => rankOf(member, { record, index }));
    const order = [...members.keys()].sort((a, b) => (String(ranks[a]) < String(ranks[b]) ? -1 : 1));
    return { ...state, record: renamed(record, order), members: order.map((index) => members[index] ?? NEWCOMER) };
  }
}

/** A state in few characters. */
export function keyOf({ nowMs, used, granted, isBlurred, record, members }: State): string {
  const { minute } = record;
  return [
    ...[nowMs - WINDOW_BEGINS_MS, used, granted, Number(isBlurred), record.closedUntilMs, record.probeBy, record.probeUntilMs],
    ...[record.turnedAtMs, record.sinceTurn, record.limitPerDay, ...Object.entries(record.minuteSlots).flat()],
    ...(minute ? ['m', minute.limit, minute.left, minute.firstRemaining, minute.resetAtMs, minute.endsAtMs] : []),
    ...members.map((member, index) => rankOf(member, { record, index })),
  ].join();
}

function copyOf(record: QuotaRecord): QuotaRecord {
  const members = Object.entries(record.members).map(([name, member]) => [name, { ...member }] as const);
  const { minute, minuteSlots } = record;
  return {
    ...record,
    minute: minute && { ...minute },
    minuteSlots: { ...minuteSlots },
    daySlots: {},
    members: Object.fromEntries(members),
  };
}

/** Names are short, and sort as the processes do. */
function nameOf(index: number): string {
  return String.fromCharCode(97 + index);
}

function knowsNoneLeft({ observed }: Member): boolean {
  return observed?.remaining === 0;
}

/** What a response leaves a process with. */
function heldAfter(member: Member, response: LeaseResponse, nowMs: number): Partial<Member> {
  const { granted, expiresInMs, resetAtMs, reason, waitMs } = response;
  if (granted > 0) {
    return { slots: granted, expiresAtMs: nowMs + expiresInMs, leaseResetAtMs: resetAtMs, isProbe: reason === 'probe', late: [] };
  }
  return reason === 'closed' ? { closedUntilMs: Math.max(member.closedUntilMs, nowMs + waitMs) } : {};
}

/** It holds a slot, nothing that it knows forbids it, and one request is out at a time. */
function maySend({ members, nowMs }: State, index: number): boolean {
  const member = members[index];
  return member !== undefined && member.slots > 0 && !member.sent && member.closedUntilMs <= nowMs && !knowsNoneLeft(member);
}

function send(state: State, index: number): State {
  const member = state.members[index] ?? NEWCOMER;
  const slots = member.slots - 1;
  const sent = { isLate: false, isProbe: member.isProbe };
  return { ...state, members: state.members.with(index, { ...member, ...(slots === 0 ? NO_LEASE : { slots }), sent }) };
}

/** Within a window Remaining only shrinks. */
function observe({ observed }: Member, remaining: number): Pick<Member, 'observed'> {
  return { observed: { remaining: Math.min(remaining, observed?.remaining ?? remaining) } };
}

function isKnown({ minute }: QuotaRecord, nowMs: number): boolean {
  return minute !== undefined && minute.endsAtMs > nowMs;
}

/** Whether it holds or has sent a probe without an answer. */
function isProbing({ slots, isProbe, sent }: Member): boolean {
  return (slots > 0 && isProbe) || sent?.isProbe === true;
}

/** The state at a later instant of this window, or moved back into it where the next one has begun. */
function at(state: State, nowMs: number): State {
  if (nowMs < WINDOW_ENDS_MS) {
    const expired = state.members.filter(({ slots, expiresAtMs }) => slots > 0 && expiresAtMs <= nowMs).length;
    return { ...state, nowMs, granted: state.granted - expired, members: state.members.map((member) => withoutExpired(member, nowMs)) };
  }
  const members = state.members.map((member) => inNextWindow(withoutExpired(member, nowMs)));
  return { ...state, nowMs: back(nowMs), used: 0, granted: 0, isBlurred: false, record: recordBack(state.record), members };
}

function withoutExpired(member: Member, nowMs: number): Member {
  return member.slots > 0 && member.expiresAtMs <= nowMs ? { ...member, ...NO_LEASE } : member;
}

function inNextWindow(member: Member): Member {
  return {
    ...member,
    expiresAtMs: back(member.expiresAtMs),
    leaseResetAtMs: back(member.leaseResetAtMs),
    sent: member.sent && { ...member.sent, isLate: true },
    observed: undefined,
    late: [],
    closedUntilMs: 0,
  };
}

/** An instant a window ago; 0 stands for none. */
function back(atMs: number): number {
  return atMs === 0 ? 0 : Math.max(OLD_MS, atMs - MINUTE_MS);
}

function recordBack(record: QuotaRecord): QuotaRecord {
  const { minute } = record;
  const slots = Object.entries(record.minuteSlots).map(([slot, granted]) => [Number(slot) - MINUTE_MS / SLOT_MS, granted]);
  const members = Object.entries(record.members).map(([name, member]) => [name, { ...member, requestedAtMs: back(member.requestedAtMs) }]);
  return {
    ...record,
    closedUntilMs: back(record.closedUntilMs),
    probeUntilMs: back(record.probeUntilMs),
    turnedAtMs: back(record.turnedAtMs),
    minute: minute && { ...minute, resetAtMs: back(minute.resetAtMs), endsAtMs: back(minute.endsAtMs) },
    minuteSlots: Object.fromEntries(slots),
    members: Object.fromEntries(members),
  };
}

/** A record without what no later exchange asks for. */
function normalRecord({ record, members, nowMs }: State, knowsPlan: boolean): QuotaRecord {
  const { minute } = record;
  const isOver = minute !== undefined && minute.endsAtMs <= nowMs;
  const isAwaited = members.some((member, index) => nameOf(index) === record.probeBy && isProbing(member));
  return {
    ...record,
    writtenAtMs: 0,
    closedUntilMs: record.closedUntilMs <= WINDOW_BEGINS_MS ? 0 : record.closedUntilMs,
    probeUntilMs: record.probeUntilMs > 0 && record.probeUntilMs <= nowMs ? OLD_MS : record.probeUntilMs,
    probeBy: isAwaited || minute === undefined ? record.probeBy : '',
    minute: isOver ? normalMinute(minute, knowsPlan) : minute,
    daySlots: {},
    ...(knowsPlan ? normalCounts(record, nowMs) : { minuteSlots: {}, turnedAtMs: 0, sinceTurn: 0 }),
    members: minute && isOver ? normalOfEnded(record) : normalRequests(record.members, nowMs),
  };
}

/** Of a window that is over, its name is left, and whether it ended in time; its end, where the plan's count turns with it. */
function normalMinute({ resetAtMs, endsAtMs }: RecordedMinute, knowsPlan: boolean): RecordedMinute {
  const isOlder = resetAtMs <= WINDOW_BEGINS_MS && !knowsPlan;
  const ended = isOlder ? { resetAtMs: WINDOW_BEGINS_MS, endsAtMs: Math.min(endsAtMs, WINDOW_BEGINS_MS) } : { resetAtMs, endsAtMs };
  const normal = isOlder && endsAtMs > 0 ? { ...ended, endsAtMs: WINDOW_BEGINS_MS } : ended;
  return { limit: 1, left: 0, firstRemaining: 0, ...normal };
}

/** The smaller of both counts holds; where it is that of the slots, it stays so until the count since the turn begins anew. */
function normalCounts(record: QuotaRecord, nowMs: number): Pick<QuotaRecord, 'minuteSlots' | 'sinceTurn'> {
  const oldest = Math.floor(nowMs / SLOT_MS) - SLOTS_KEPT;
  const slots = Object.entries(record.minuteSlots).filter(([slot, granted]) => Number(slot) >= oldest && granted > 0);
  const inSlots = slots.reduce((sum, [, granted]) => sum + granted, 0);
  return { minuteSlots: Object.fromEntries(slots), sinceTurn: Math.min(record.sinceTurn, inSlots) };
}

/** Those of a window that is over are expected in the next one; those that were expected in it are forgotten when that begins. */
function normalOfEnded({ members, probeBy, probeUntilMs }: QuotaRecord): QuotaRecord['members'] {
  const normal = Object.entries(members)
    .filter(([, { isExpected }]) => !isExpected)
    .map(([name, { granted }]) => [name, { granted: probeUntilMs > 0 && name === probeBy ? granted : 0, requestedAtMs: OLD_MS }] as const);
  return Object.fromEntries(normal);
}

/** Of when a process requested it matters whether that was within the last second. */
function normalRequests(members: QuotaRecord['members'], nowMs: number): QuotaRecord['members'] {
  const normal = Object.entries(members).map(([name, { requestedAtMs, ...member }]) => {
    return [name, { ...member, requestedAtMs: requestedAtMs === nowMs ? nowMs : OLD_MS }] as const;
  });
  return Object.fromEntries(normal);
}

/**
 * A process without what no later exchange asks for: a Remaining that cannot tighten what is recorded, late answers of one that is there.
 */
function normalMember(member: Member, { record, members, nowMs, index }: State & { index: number }): Member {
  const { observed } = member;
  const isThere = isKnown(record, nowMs) && record.members[nameOf(index)] !== undefined;
  const late = isThere ? [] : member.late;
  if (!observed || observed.remaining === 0 || !record.minute || !isKnown(record, nowMs)) return { ...member, late };
  const most = members.reduce((sum, { slots }) => sum + slots, record.minute.left);
  return { ...member, late, observed: observed.remaining >= most ? undefined : observed };
}

/** What tells one process from another. */
function rankOf(member: Member, { record, index }: { record: QuotaRecord; index: number }): string {
  const { slots, expiresAtMs, isProbe, sent, observed, late, closedUntilMs } = member;
  const known = record.members[nameOf(index)];
  const held = slots > 0 ? `${slots}${isProbe ? 'p' : ''}${expiresAtMs - WINDOW_BEGINS_MS}` : '';
  const out = sent ? `${sent.isLate ? 'l' : ''}${sent.isProbe ? 'p' : 'r'}` : '';
  const there = known ? `${known.granted}/${known.requestedAtMs === OLD_MS ? 'gone' : 'there'}${known.isExpected ? '?' : ''}` : '';
  return `${held}|${out}|${observed?.remaining}|${late}|${closedUntilMs > 0 ? 'c' : ''}|${there}|${record.probeBy === nameOf(index) ? 'p' : ''}`;
}

/** The record with its processes named by their place in `order`. */
function renamed(record: QuotaRecord, order: readonly number[]): QuotaRecord {
  const members = order.flatMap((old, index) => {
    const member = record.members[nameOf(old)];
    return member ? [[nameOf(index), member] as const] : [];
  });
  const probeBy = order.findIndex((old) => nameOf(old) === record.probeBy);
  return { ...record, probeBy: probeBy < 0 ? '' : nameOf(probeBy), members: Object.fromEntries(members) };
}
