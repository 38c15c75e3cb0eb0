import { DAY_MS, MINUTE_MS } from '../contract/plans.ts';
import { type LeaseRequest, type LeaseResponse, type ObservedWindow, UNLIMITED } from '../quota-store.ts';

/** The time slots of a rolling count, and how many are kept. */
interface Slots {
  ms: number;
  kept: number;
}
const OF_MINUTE: Slots = { ms: MINUTE_MS / 12, kept: 12 };
/** Ten minutes each: a job that runs every night at the same time waits for that long at most until its last run has left the count. */
const OF_DAY: Slots = { ms: DAY_MS / 144, kept: 144 };
/** After this time without an answer to a probe, another process may send one. */
const PROBE_TIMEOUT_MS = 1000;
/** How soon to request again while another process's probe is out. */
const PROBE_POLL_MS = 25;
/** One lease is at most the limit divided by this, and at most half of a process's part of what is left. */
const LEASES_OF_LIMIT = 20;
/** How soon a process that has had its part requests again, while the rest is kept for others. */
const PART_POLL_MS = 150;
/** A window that ends sooner than this after the plan's count was last reset does not reset it. */
const EARLIEST_TURN_MS = 54_000;
/**
 * For how long the part of a process is kept for it: after each of its requests, and after a window began, if it requested in the one before.
 * It may learn late that a window has begun, since `Date` is cut to seconds.
 */
const PRESENT_MS = 1000;
/** A record written further in the future than this is void: the clock was set back, and what it says would hold for too long. */
export const FUTURE_MS = 60_000;

/** One window as the headers described it. */
interface RecordedWindow {
  left: number;
  resetAtMs: number;
  endsAtMs: number;
}

/** The minute as the headers described it. */
export interface RecordedMinute extends RecordedWindow {
  limit: number;
  /** The first Remaining that was observed under this Reset. */
  firstRemaining: number;
  /** In a weighted counter: how many requests of the window before still count, and when they were counted. */
  carried?: { requests: number; atMs: number } | undefined;
}

/** What one process got in this window, and when it requested last. */
interface RecordedMember {
  granted: number;
  requestedAtMs: number;
  /** It requested in the window before, and has not in this one: `requestedAtMs` is when this one began. */
  isExpected?: true | undefined;
}

/** How many requests were granted in each time slot, by the slot's number: a plain object, which JSON can hold, and which keeps such names ascending. */
type SlotCounts = Record<string, number>;

/** What a store keeps for one key; instants are on the store's own clock. */
export interface QuotaRecord {
  /** When it was written last. */
  writtenAtMs: number;
  closedUntilMs: number;
  probeBy: string;
  probeUntilMs: number;
  minute?: RecordedMinute | undefined;
  day?: RecordedWindow | undefined;
  limitPerDay?: number | undefined;
  /** When the plan's count was last reset, and how many slots were granted since, and from the reset before until then. */
  turnedAtMs: number;
  sinceTurn: number;
  beforeTurn: number;
  /** Slots granted in each twelfth of a minute, and in each 144th of a day. */
  minuteSlots: SlotCounts;
  daySlots: SlotCounts;
  /** The processes that requested in this window or in the one before. */
  members: Record<string, RecordedMember>;
}

export function emptyRecord(): QuotaRecord {
  return {
    writtenAtMs: 0,
    closedUntilMs: 0,
    probeBy: '',
    probeUntilMs: 0,
    minute: undefined,
    day: undefined,
    limitPerDay: undefined,
    turnedAtMs: 0,
    sinceTurn: 0,
    beforeTurn: 0,
    minuteSlots: {},
    daySlots: {},
    members: {},
  };
}

/** What one process requests, of which record, and when. */
interface Exchange {
  record: QuotaRecord;
  request: LeaseRequest;
  nowMs: number;
}

/**
 * Records what one process reports, takes back what it returns, and grants what it may have. The script for Redis does the same in Lua,
 * function by function, and the tests compare the two. The time is a parameter.
 */
export function exchangeLease(record: QuotaRecord, request: LeaseRequest, nowMs: number): LeaseResponse {
  const exchange = { record, request, nowMs };
  if (record.writtenAtMs - nowMs > FUTURE_MS) Object.assign(record, emptyRecord());
  record.writtenAtMs = nowMs;
  forgetOld(record.minuteSlots, OF_MINUTE, nowMs);
  forgetOld(record.daySlots, OF_DAY, nowMs);
  refill(exchange);
  // A process that knows neither the plan nor headers of the service uses the daily limit that others reported.
  const { requestsPerDay } = request.plan;
  if (requestsPerDay !== undefined || isFresh(exchange, request.minute)) record.limitPerDay = request.limitPerDay ?? requestsPerDay;
  if (request.closedForMs > 0) {
    record.closedUntilMs = Math.max(record.closedUntilMs, nowMs + request.closedForMs);
    record.probeUntilMs = 0;
    if (record.minute) record.minute.endsAtMs = 0;
  }
  giveBack(exchange);
  observe(exchange);
  return request.wanted > 0 ? grant(exchange) : refuse(exchange, 'quota', 0);
}

/** Requests that are carried over stop counting at an even pace until the window ends. Rounded down: then what is left is never too much. */
function refill({ record, nowMs }: Exchange): void {
  const minute = underWay(record.minute, nowMs);
  if (!minute?.carried || nowMs <= minute.carried.atMs) return;
  const { requests, atMs } = minute.carried;
  const gone = Math.floor((requests * (nowMs - atMs)) / (minute.endsAtMs - atMs));
  if (gone < 1) return;
  minute.left += gone;
  minute.carried = { requests: requests - gone, atMs: nowMs };
}

function giveBack({ record, request }: Exchange): void {
  const { returned, uncounted, returnedResetAtMs } = request;
  if (returned + uncounted === 0) return;
  takeBack(record.minuteSlots, returned);
  takeBack(record.daySlots, returned + uncounted);
  record.sinceTurn = Math.max(0, record.sinceTurn - returned);
  if (record.day) record.day.left += returned + uncounted;
  if (record.minute?.resetAtMs !== returnedResetAtMs) return;
  record.minute.left += returned;
  const member = record.members[request.member];
  if (member) member.granted -= returned;
}

function observe(exchange: Exchange): void {
  const { record, request, nowMs } = exchange;
  const { minute, day } = request;
  if (isFresh(exchange, day)) observeDay(exchange, day);
  // No process reports an end that is too early, so the earliest one is the most exact.
  if (minute && record.minute?.resetAtMs === minute.resetAtMs)
    record.minute.endsAtMs = Math.min(record.minute.endsAtMs, nowMs + minute.endsInMs);
  if (isFresh(exchange, minute)) observeMinute(exchange, minute);
  if (!request.isProbeAnswered || record.probeBy !== request.member || record.probeUntilMs === 0) return;
  // If the headers did not describe the minute, only the plan limits the next minute. A minute that they described may be over.
  const isDescribed = minute && nowMs - minute.ageMs >= record.probeUntilMs - PROBE_TIMEOUT_MS;
  if (!underWay(record.minute, nowMs) && !isDescribed)
    beginMinute(exchange, { limit: UNLIMITED, left: UNLIMITED, firstRemaining: UNLIMITED, resetAtMs: 0, endsAtMs: nowMs + MINUTE_MS });
  record.probeUntilMs = 0;
}

/** Whether a window is under way and was observed after the last closure ended: earlier headers say nothing about the time after it. */
function isFresh({ record, nowMs }: Exchange, window: ObservedWindow | undefined): window is ObservedWindow {
  return window !== undefined && window.endsInMs > 0 && nowMs - window.ageMs >= record.closedUntilMs;
}

function observeDay({ record, nowMs }: Exchange, { remaining, resetAtMs, endsInMs }: ObservedWindow): void {
  if (record.day && resetAtMs < record.day.resetAtMs) return;
  const before = record.day?.resetAtMs === resetAtMs ? record.day.left : UNLIMITED;
  record.day = { left: Math.min(before, remaining), resetAtMs, endsAtMs: nowMs + endsInMs };
}

function observeMinute(exchange: Exchange, window: ObservedWindow): void {
  const { record, request, nowMs } = exchange;
  const { limit, remaining, resetAtMs, endsInMs } = window;
  const { minute: before, probeBy, probeUntilMs } = record;
  const known = underWay(before, nowMs);
  if (known) {
    if (resetAtMs !== known.resetAtMs) return describe(known, window, nowMs);
    // A limit of 0 stays: the store was restarted empty.
    known.limit &&= limit;
    // Within a window Remaining only shrinks, unless requests are carried over.
    if (!known.carried) known.left = Math.min(known.left, remaining);
    return;
  }
  // A Reset before that of the last window, or the same unless the window was closed early, names one that is over: it does not begin again
  // because one process expects it to last longer than others do. Only the answer to a probe is surely newer: an earlier Reset in it means
  // that the service's clock was set back.
  const isOver = before && (resetAtMs < before.resetAtMs || (resetAtMs === before.resetAtMs && before.endsAtMs > 0));
  if (isOver && !(probeBy === request.member && request.isProbeAnswered)) return;
  turn(exchange);
  // If a process knows the window, and the store knows none and granted it no probe, the store was restarted empty. It then grants nothing
  // until the window ends.
  const isForgotten = !before && !record.members[request.member] && !request.isProbeAnswered;
  const probes = probeUntilMs > nowMs && probeBy !== request.member ? 1 : 0;
  // That the service counts so holds for the windows that follow, until the next closure.
  const isWeighted = window.isWeighted || (before?.endsAtMs && before.carried);
  const carried = isWeighted ? { requests: carriedOver(record, window), atMs: nowMs } : undefined;
  const endsAtMs = nowMs + endsInMs;
  const left = Math.max(0, remaining - probes);
  beginMinute(exchange, { limit: isForgotten ? 0 : limit, left, firstRemaining: remaining, resetAtMs, endsAtMs, carried });
}

/** Takes the minute from a later answer if the probe's answer did not describe it. What was granted since the probe counts as used. */
function describe(minute: RecordedMinute, { limit, remaining, resetAtMs, endsInMs, ageMs }: ObservedWindow, nowMs: number): void {
  if (minute.resetAtMs !== 0 || nowMs - ageMs < minute.endsAtMs - MINUTE_MS) return;
  const left = Math.max(0, Math.min(remaining, limit - (UNLIMITED - minute.left)));
  Object.assign(minute, { limit, left, firstRemaining: remaining, resetAtMs, endsAtMs: nowMs + endsInMs });
}

/** What Remaining lacks and was not granted in this window; no more than was granted in the one before, weighted: the rest is of others. */
function carriedOver({ beforeTurn, sinceTurn }: QuotaRecord, { limit, remaining, endsInMs }: ObservedWindow): number {
  return Math.max(0, Math.min(limit - remaining - sinceTurn, Math.floor((beforeTurn * endsInMs) / MINUTE_MS)));
}

/** The window begins with its last probe. An earlier one whose answer was slow is under way like any other request. */
function beginMinute({ record, nowMs }: Exchange, minute: RecordedMinute): void {
  const prober = record.probeUntilMs > 0 ? record.probeBy : undefined;
  for (const [name, { isExpected }] of Object.entries(record.members)) {
    if (name === prober) continue;
    // All grants but that of the probe were of the window before.
    if (isExpected) delete record.members[name];
    else record.members[name] = { granted: 0, requestedAtMs: nowMs, isExpected: true };
  }
  record.minute = minute;
  record.probeUntilMs = 0;
}

function grant(exchange: Exchange): LeaseResponse {
  const { record, request, nowMs } = exchange;
  if (record.closedUntilMs > nowMs) return refuse(exchange, 'closed', record.closedUntilMs - nowMs);
  const minute = underWay(record.minute, nowMs);
  if (!minute) return grantProbe(exchange);
  const expiresInMs = minute.endsAtMs - nowMs;
  if (minute.limit === 0) return refuse(exchange, 'lost', expiresInMs);
  const member = record.members[request.member];
  if (!member || member.isExpected) minute.left = Math.max(0, minute.left - lateOf(request, minute));
  record.members[request.member] = { granted: member?.granted ?? 0, requestedAtMs: nowMs };
  const free = Math.min(minute.left, freeByPlan(exchange), freeInDay(exchange));
  if (free < 1) return refuse(exchange, 'quota', waitMsOf(exchange));
  const part = partOf(exchange, free);
  if (part < 1) return refuse(exchange, 'quota', Math.min(PART_POLL_MS, expiresInMs));
  const limit = Math.min(minute.limit, request.plan.requestsPerMinute ?? UNLIMITED);
  const members = sizeOf(record.members);
  const most = Math.max(1, Math.floor(Math.min(limit / LEASES_OF_LIMIT, free / (2 * members))));
  const granted = Math.min(request.wanted, most, part);
  count(exchange, granted);
  return { granted, expiresInMs, resetAtMs: minute.resetAtMs, waitMs: 0, reason: 'quota', members };
}

/** Remaining is unknown: a single request of one process finds it out for all. */
function grantProbe(exchange: Exchange): LeaseResponse {
  const { record, request, nowMs } = exchange;
  if (record.probeUntilMs > nowMs) return refuse(exchange, 'probe', PROBE_POLL_MS);
  turn(exchange);
  if (Math.min(freeByPlan(exchange), freeInDay(exchange)) < 1) return refuse(exchange, 'quota', waitMsOf(exchange));
  // Until a window is known, its members are the processes that sent a probe within the last minute. Later, those of the last window stay.
  const keptMs = record.minute ? 2 * MINUTE_MS : MINUTE_MS;
  for (const [name, { requestedAtMs }] of Object.entries(record.members)) if (nowMs - requestedAtMs > keptMs) delete record.members[name];
  record.members[request.member] = { granted: 0, requestedAtMs: nowMs };
  record.probeBy = request.member;
  record.probeUntilMs = nowMs + PROBE_TIMEOUT_MS;
  count(exchange, 1);
  return { granted: 1, expiresInMs: PROBE_TIMEOUT_MS, resetAtMs: 0, waitMs: 0, reason: 'probe', members: 1 };
}

function refuse({ record }: Exchange, reason: LeaseResponse['reason'], waitMs: number): LeaseResponse {
  return { granted: 0, expiresInMs: 0, resetAtMs: 0, waitMs, reason, members: sizeOf(record.members) };
}

/**
 * Requests of the last window that the Remaining of the probe's answer does not include: those without an answer, and those that the
 * service counted after the probe.
 */
function lateOf({ unanswered, lateAnswers }: LeaseRequest, { resetAtMs, firstRemaining }: RecordedMinute): number {
  return unanswered + lateAnswers.filter((late) => late.resetAtMs === resetAtMs && late.remaining < firstRemaining).length;
}

/** How much of what is free one process may take: its even part first, and the rest except the even parts of other active processes. */
function partOf({ record, request, nowMs }: Exchange, free: number): number {
  const all = Object.entries(record.members);
  const even = Math.floor(all.reduce((total, [, { granted }]) => total + granted, free) / all.length);
  const kept = all.reduce((total, [name, { granted, requestedAtMs }]) => {
    return name === request.member || nowMs - requestedAtMs > PRESENT_MS ? total : total + Math.max(0, even - granted);
  }, 0);
  const lacking = Math.max(0, even - (record.members[request.member]?.granted ?? 0));
  return Math.max(free - kept, lacking > 0 ? Math.max(1, Math.floor((free * lacking) / (lacking + kept))) : 0);
}

function count({ record, request, nowMs }: Exchange, granted: number): void {
  const minute = underWay(record.minute, nowMs);
  if (minute) minute.left -= granted;
  if (record.day) record.day.left -= granted;
  record.sinceTurn += granted;
  add(record.minuteSlots, slotOf(nowMs, OF_MINUTE), granted);
  add(record.daySlots, slotOf(nowMs, OF_DAY), granted);
  const member = record.members[request.member];
  if (member) member.granted += granted;
}

/** Resets the plan's count if a window has ended. */
function turn({ record, nowMs }: Exchange): void {
  const turnsAtMs = planTurnsAtMs(record);
  if (nowMs < turnsAtMs) return;
  record.turnedAtMs = turnsAtMs;
  record.beforeTurn = record.sinceTurn;
  record.sinceTurn = 0;
}

/** When the plan's count is reset: at the end of a window whose Reset was observed, but at most about once a minute. */
function planTurnsAtMs({ minute, turnedAtMs }: QuotaRecord): number {
  const isTurn = minute && minute.resetAtMs !== 0 && minute.endsAtMs - turnedAtMs >= EARLIEST_TURN_MS;
  return isTurn ? minute.endsAtMs : Number.POSITIVE_INFINITY;
}

/** Until an answer describes the next window, the limit of the last one limits the probes too: unanswered ones may have been counted. */
function freeByPlan({ record, request }: Exchange): number {
  const { minute, turnedAtMs, minuteSlots, sinceTurn } = record;
  const isTurned = minute && minute.limit > 0 && minute.endsAtMs === turnedAtMs;
  const limit = Math.min(request.plan.requestsPerMinute ?? UNLIMITED, isTurned ? minute.limit : UNLIMITED);
  return limit - Math.min(sum(minuteSlots), sinceTurn);
}

/** What is left of the day by the headers, and by the plan of the process that requests; by that of others if it knows none. */
function freeInDay({ record, request, nowMs }: Exchange): number {
  const day = underWay(record.day, nowMs);
  const granted = sum(record.daySlots, day && slotOf(day.endsAtMs - DAY_MS, OF_DAY));
  return Math.min(day?.left ?? UNLIMITED, (request.plan.requestsPerDay ?? record.limitPerDay ?? UNLIMITED) - granted);
}

/** How long until a slot is free, if none is. */
function waitMsOf(exchange: Exchange): number {
  const { record, nowMs } = exchange;
  const dayAtMs = underWay(record.day, nowMs)?.endsAtMs ?? firstLeavesAtMs(record.daySlots, OF_DAY);
  const planAtMs = Math.min(planTurnsAtMs(record), firstLeavesAtMs(record.minuteSlots, OF_MINUTE));
  const minute = underWay(record.minute, nowMs);
  // About until requests that are carried over have left a slot for each process.
  const rounds = 1 + (minute?.carried?.requests ?? 0) / sizeOf(record.members);
  return Math.max(
    1,
    freeInDay(exchange) < 1 ? dayAtMs - nowMs : 0,
    freeByPlan(exchange) < 1 ? planAtMs - nowMs : 0,
    minute && minute.left < 1 ? Math.ceil((minute.endsAtMs - nowMs) / rounds) : 0,
  );
}

/** The window, unless it is over or not known. */
function underWay<T extends RecordedWindow>(window: T | undefined, nowMs: number): T | undefined {
  return window && window.endsAtMs > nowMs ? window : undefined;
}

function sizeOf(members: QuotaRecord['members']): number {
  return Object.keys(members).length;
}

/** The number of the time slot that an instant lies in. */
function slotOf(instantMs: number, { ms }: Slots): number {
  return Math.floor(instantMs / ms);
}

function forgetOld(counts: SlotCounts, slots: Slots, nowMs: number): void {
  const first = slotOf(nowMs, slots) - slots.kept;
  for (const slot of Object.keys(counts)) if (Number(slot) < first) delete counts[slot];
}

function add(counts: SlotCounts, slot: number, more: number): void {
  counts[slot] = (counts[slot] ?? 0) + more;
}

/** Subtracts returned requests from the newest slots, in which they were granted. */
function takeBack(counts: SlotCounts, returned: number): void {
  let left = returned;
  for (const [slot, granted] of Object.entries(counts).reverse()) {
    const taken = Math.min(granted, left);
    counts[slot] = granted - taken;
    left -= taken;
  }
}

/** How many requests were granted from the slot `first` on. */
function sum(counts: SlotCounts, first = 0): number {
  return Object.entries(counts).reduce((total, [slot, granted]) => (Number(slot) < first ? total : total + granted), 0);
}

/** When the oldest slot that holds anything leaves the rolling count. */
function firstLeavesAtMs(counts: SlotCounts, { ms, kept }: Slots): number {
  const first = Object.keys(counts).find((slot) => counts[slot]);
  return first ? (Number(first) + kept + 1) * ms : 0;
}
