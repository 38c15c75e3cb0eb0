import { DAY_MS, MINUTE_MS } from '../../contract/plans.ts';
import type { LeaseRequest, LeaseResponse, ObservedWindow } from '../../quota-store.ts';
import { UNLIMITED } from '../ledger/settings.ts';

/** Time slots of the rolling counts of the minute and the day. */
const MINUTE_SLOTS = 12;
const SLOT_MS = MINUTE_MS / MINUTE_SLOTS;
/** Ten minutes each: a job that runs every night at the same time waits for that long at most until its last run has left the count. */
const DAY_SLOTS = 144;
const DAY_SLOT_MS = DAY_MS / DAY_SLOTS;
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

/**
 * Records what one process reports, takes back what it returns, and grants what it may have. The script for Redis does the same in Lua,
 * and the tests compare the two. The time is a parameter.
 */
export function exchangeLease(record: QuotaRecord, request: LeaseRequest, nowMs: number): LeaseResponse {
  if (record.writtenAtMs - nowMs > FUTURE_MS) Object.assign(record, emptyRecord());
  record.writtenAtMs = nowMs;
  forgetOld(record, nowMs);
  refill(underWay(record.minute, nowMs), nowMs);
  // A process that knows neither the plan nor headers of the service uses the daily limit that others reported.
  const knowsPlan = request.plan.requestsPerDay !== undefined || (request.minute && isFresh(record, request.minute, nowMs));
  if (knowsPlan) record.limitPerDay = request.limitPerDay ?? request.plan.requestsPerDay;
  if (request.closedForMs > 0) close(record, nowMs + request.closedForMs);
  giveBack(record, request);
  observe(record, request, nowMs);
  return request.wanted > 0 ? grant(record, request, nowMs) : refuse(record, { waitMs: 0, reason: 'quota' });
}

function close(record: QuotaRecord, untilMs: number): void {
  record.closedUntilMs = Math.max(record.closedUntilMs, untilMs);
  record.probeUntilMs = 0;
  if (record.minute) record.minute.endsAtMs = 0;
}

/** Requests that are carried over stop counting at an even pace until the window ends. Rounded down: then what is left is never too much. */
function refill(minute: RecordedMinute | undefined, nowMs: number): void {
  if (!minute?.carried) return;
  const { requests, atMs } = minute.carried;
  const gone = nowMs > atMs ? Math.floor((requests * (nowMs - atMs)) / (minute.endsAtMs - atMs)) : 0;
  minute.left += gone;
  if (gone > 0) minute.carried = { requests: requests - gone, atMs: nowMs };
}

function giveBack(record: QuotaRecord, { returned, uncounted, returnedResetAtMs, member }: LeaseRequest): void {
  if (returned + uncounted === 0) return;
  takeBack(record.minuteSlots, returned);
  takeBack(record.daySlots, returned + uncounted);
  record.sinceTurn = Math.max(0, record.sinceTurn - returned);
  if (record.day) record.day.left += returned + uncounted;
  if (record.minute?.resetAtMs !== returnedResetAtMs) return;
  record.minute.left += returned;
  if (record.members[member]) record.members[member].granted -= returned;
}

function observe(record: QuotaRecord, request: LeaseRequest, nowMs: number): void {
  if (request.day && isFresh(record, request.day, nowMs)) observeDay(record, request.day, nowMs);
  if (request.minute) observeEnd(record, request.minute, nowMs);
  if (request.minute && isFresh(record, request.minute, nowMs)) observeMinute(record, request, { ...request.minute, nowMs });
  const isOwnProbe = record.probeBy === request.member && record.probeUntilMs > 0;
  if (!request.isProbeAnswered || !isOwnProbe) return;
  // If the headers did not describe the minute, only the plan limits the next minute. A minute that they described may be over.
  const isDescribed = request.minute !== undefined && nowMs - request.minute.ageMs >= record.probeUntilMs - PROBE_TIMEOUT_MS;
  if (!underWay(record.minute, nowMs) && !isDescribed)
    beginMinute(record, { limit: UNLIMITED, left: UNLIMITED, firstRemaining: UNLIMITED, resetAtMs: 0, endsAtMs: nowMs + MINUTE_MS }, nowMs);
  record.probeUntilMs = 0;
}

/** The window begins with its last probe. An earlier one whose answer was slow is under way like any other request. */
function beginMinute(record: QuotaRecord, minute: RecordedMinute, nowMs: number): void {
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

/** No process reports an end that is too early, so the earliest one is the most exact. */
function observeEnd({ minute }: QuotaRecord, { resetAtMs, endsInMs }: ObservedWindow, nowMs: number): void {
  if (minute?.resetAtMs === resetAtMs) minute.endsAtMs = Math.min(minute.endsAtMs, nowMs + endsInMs);
}

/** Whether a window is under way and was observed after the last closure ended: earlier headers say nothing about the time after it. */
function isFresh(record: QuotaRecord, { endsInMs, ageMs }: ObservedWindow, nowMs: number): boolean {
  return endsInMs > 0 && nowMs - ageMs >= record.closedUntilMs;
}

function observeDay(record: QuotaRecord, { remaining, resetAtMs, endsInMs }: ObservedWindow, nowMs: number): void {
  if (record.day && resetAtMs < record.day.resetAtMs) return;
  const before = record.day?.resetAtMs === resetAtMs ? record.day.left : UNLIMITED;
  record.day = { left: Math.min(before, remaining), resetAtMs, endsAtMs: nowMs + endsInMs };
}

function observeMinute(record: QuotaRecord, request: LeaseRequest, window: ObservedWindow & { nowMs: number }): void {
  const { limit, remaining, resetAtMs, endsInMs, nowMs } = window;
  const known = underWay(record.minute, nowMs);
  if (known) {
    if (resetAtMs !== known.resetAtMs) return describe(known, window);
    // A limit of 0 stays: the store was restarted empty.
    known.limit &&= limit;
    // Within a window Remaining only shrinks, unless requests are carried over.
    if (!known.carried) known.left = Math.min(known.left, remaining);
    return;
  }
  const isOwnProbe = record.probeBy === request.member;
  // Only the answer to a probe is surely newer: an earlier Reset in it means that the service's clock was set back. A window that has
  // ended does not begin again because one process expects it to last longer than others do.
  if (isOver(record.minute, resetAtMs) && !(isOwnProbe && request.isProbeAnswered)) return;
  turn(record, nowMs);
  const isForgotten = !record.minute && !record.members[request.member] && !request.isProbeAnswered;
  const probes = record.probeUntilMs > nowMs && !isOwnProbe ? 1 : 0;
  // If a process knows the window, and the store knows none and granted it no probe, the store was restarted empty. It then grants nothing
  // until the window ends.
  const left = Math.max(0, remaining - probes);
  // That the service counts so holds for the windows that follow, until the next closure.
  const isWeighted = window.isWeighted || (record.minute?.endsAtMs && record.minute.carried);
  const carried = isWeighted ? { requests: carriedOver(record, window), atMs: nowMs } : undefined;
  const endsAtMs = nowMs + endsInMs;
  beginMinute(record, { limit: isForgotten ? 0 : limit, left, firstRemaining: remaining, resetAtMs, endsAtMs, carried }, nowMs);
}

/** What Remaining lacks and was not granted in this window; no more than was granted in the one before, weighted: the rest is of others. */
function carriedOver({ beforeTurn, sinceTurn }: QuotaRecord, { limit, remaining, endsInMs }: ObservedWindow): number {
  return Math.max(0, Math.min(limit - remaining - sinceTurn, Math.floor((beforeTurn * endsInMs) / MINUTE_MS)));
}

/** Takes the minute from a later answer if the probe's answer did not describe it. What was granted since the probe counts as used. */
function describe(
  minute: RecordedMinute,
  { limit, remaining, resetAtMs, endsInMs, ageMs, nowMs }: ObservedWindow & { nowMs: number },
): void {
  const isAfterProbe = nowMs - ageMs >= minute.endsAtMs - MINUTE_MS;
  if (minute.resetAtMs !== 0 || !isAfterProbe) return;
  const left = Math.max(0, Math.min(remaining, limit - (UNLIMITED - minute.left)));
  Object.assign(minute, { limit, left, firstRemaining: remaining, resetAtMs, endsAtMs: nowMs + endsInMs });
}

/** Whether a Reset names a window that is over: one before the last known window, or that window itself, unless it was closed early. */
function isOver(minute: RecordedWindow | undefined, resetAtMs: number): boolean {
  if (minute === undefined) return false;
  return resetAtMs < minute.resetAtMs || (resetAtMs === minute.resetAtMs && minute.endsAtMs > 0);
}

function grant(record: QuotaRecord, request: LeaseRequest, nowMs: number): LeaseResponse {
  if (record.closedUntilMs > nowMs) return refuse(record, { waitMs: record.closedUntilMs - nowMs, reason: 'closed' });
  const minute = underWay(record.minute, nowMs);
  if (!minute) return grantProbe(record, request, nowMs);
  if (minute.limit === 0) return refuse(record, { waitMs: minute.endsAtMs - nowMs, reason: 'lost' });
  const member = record.members[request.member];
  if (!member || member.isExpected) minute.left = Math.max(0, minute.left - lateOf(request, minute));
  record.members[request.member] = { granted: member?.granted ?? 0, requestedAtMs: nowMs };
  const free = Math.min(minute.left, freeByPlan(record, request), freeInDay(record, request, nowMs));
  if (free < 1) return refuse(record, { waitMs: waitMsOf(record, request, nowMs), reason: 'quota' });
  const limit = Math.min(minute.limit, request.plan.requestsPerMinute ?? UNLIMITED);
  const members = Object.keys(record.members).length;
  const part = partOf(record, request.member, { free, nowMs });
  if (part < 1) return refuse(record, { waitMs: Math.min(PART_POLL_MS, minute.endsAtMs - nowMs), reason: 'quota' });
  const most = Math.max(1, Math.floor(Math.min(limit / LEASES_OF_LIMIT, free / (2 * members))));
  const granted = Math.min(request.wanted, most, part);
  count(record, { member: request.member, granted, nowMs });
  return { granted, expiresInMs: minute.endsAtMs - nowMs, resetAtMs: minute.resetAtMs, waitMs: 0, reason: 'quota', members };
}

/**
 * Requests of the last window that the Remaining of the probe's answer does not include: those without an answer, and those that the
 * service counted after the probe.
 */
function lateOf({ unanswered, lateAnswers }: LeaseRequest, { resetAtMs, firstRemaining }: RecordedMinute): number {
  const after = lateAnswers.filter((late) => late.resetAtMs === resetAtMs && late.remaining < firstRemaining);
  return unanswered + after.length;
}

/** Remaining is unknown: a single request of one process finds it out for all. */
function grantProbe(record: QuotaRecord, request: LeaseRequest, nowMs: number): LeaseResponse {
  if (record.probeUntilMs > nowMs) return refuse(record, { waitMs: PROBE_POLL_MS, reason: 'probe' });
  turn(record, nowMs);
  if (Math.min(freeByPlan(record, request), freeInDay(record, request, nowMs)) < 1)
    return refuse(record, { waitMs: waitMsOf(record, request, nowMs), reason: 'quota' });
  // Until a window is known, its members are the processes that sent a probe within the last minute. Later, those of the last window stay.
  const keptMs = record.minute ? 2 * MINUTE_MS : MINUTE_MS;
  for (const [name, { requestedAtMs }] of Object.entries(record.members)) if (nowMs - requestedAtMs > keptMs) delete record.members[name];
  record.members[request.member] = { granted: 0, requestedAtMs: nowMs };
  record.probeBy = request.member;
  record.probeUntilMs = nowMs + PROBE_TIMEOUT_MS;
  count(record, { member: request.member, granted: 1, nowMs });
  return { granted: 1, expiresInMs: PROBE_TIMEOUT_MS, resetAtMs: 0, waitMs: 0, reason: 'probe', members: 1 };
}

/** Resets the plan's count if a window has ended. */
function turn(record: QuotaRecord, nowMs: number): void {
  const turnsAtMs = planTurnsAtMs(record);
  if (nowMs < turnsAtMs) return;
  record.turnedAtMs = turnsAtMs;
  record.beforeTurn = record.sinceTurn;
  record.sinceTurn = 0;
}

/** When the plan's count is reset: at the end of a window whose Reset was observed, but at most about once a minute. */
function planTurnsAtMs({ minute, turnedAtMs }: QuotaRecord): number {
  if (!minute || minute.resetAtMs === 0) return Number.POSITIVE_INFINITY;
  return minute.endsAtMs - turnedAtMs < EARLIEST_TURN_MS ? Number.POSITIVE_INFINITY : minute.endsAtMs;
}

function count(record: QuotaRecord, { member, granted, nowMs }: { member: string; granted: number; nowMs: number }): void {
  const minute = underWay(record.minute, nowMs);
  if (minute) minute.left -= granted;
  if (record.day) record.day.left -= granted;
  record.sinceTurn += granted;
  add(record.minuteSlots, slotOf(nowMs, SLOT_MS), granted);
  add(record.daySlots, slotOf(nowMs, DAY_SLOT_MS), granted);
  if (record.members[member]) record.members[member].granted += granted;
}

function freeByPlan(record: QuotaRecord, { plan }: LeaseRequest): number {
  const limit = Math.min(plan.requestsPerMinute ?? UNLIMITED, lastLimit(record));
  return limit - Math.min(sum(record.minuteSlots), record.sinceTurn);
}

/** The limit of the last window, until an answer describes the next one. It limits probes: unanswered ones may have been counted. */
function lastLimit({ minute, turnedAtMs }: QuotaRecord): number {
  return minute && minute.limit > 0 && minute.endsAtMs === turnedAtMs ? minute.limit : UNLIMITED;
}

/** What is left of the day by the headers, and by the plan of the process that requests; by that of others if it knows none. */
function freeInDay(record: QuotaRecord, { plan }: LeaseRequest, nowMs: number): number {
  const day = underWay(record.day, nowMs);
  const granted = sum(record.daySlots, day && slotOf(day.endsAtMs - DAY_MS, DAY_SLOT_MS));
  return Math.min(day?.left ?? UNLIMITED, (plan.requestsPerDay ?? record.limitPerDay ?? UNLIMITED) - granted);
}

/** How long until a slot is free, if none is. */
function waitMsOf(record: QuotaRecord, request: LeaseRequest, nowMs: number): number {
  const dayMs = freeInDay(record, request, nowMs) >= 1 ? 0 : dayWaitMs(record, nowMs);
  const planAtMs = Math.min(planTurnsAtMs(record), firstSlotMs(record.minuteSlots, SLOT_MS, MINUTE_SLOTS));
  const planMs = freeByPlan(record, request) >= 1 ? 0 : planAtMs - nowMs;
  const minute = underWay(record.minute, nowMs);
  // About until requests that are carried over have left a slot for each process.
  const rounds = 1 + (minute?.carried?.requests ?? 0) / Object.keys(record.members).length;
  const minuteMs = minute && minute.left < 1 ? Math.ceil((minute.endsAtMs - nowMs) / rounds) : 0;
  return Math.max(1, dayMs, planMs, minuteMs);
}

function dayWaitMs(record: QuotaRecord, nowMs: number): number {
  return (underWay(record.day, nowMs)?.endsAtMs ?? firstSlotMs(record.daySlots, DAY_SLOT_MS, DAY_SLOTS)) - nowMs;
}

function refuse(record: QuotaRecord, { waitMs, reason }: Pick<LeaseResponse, 'waitMs' | 'reason'>): LeaseResponse {
  return { granted: 0, expiresInMs: 0, resetAtMs: 0, waitMs, reason, members: Object.keys(record.members).length };
}

/** The window, unless it is over or not known. */
function underWay<T extends RecordedWindow>(window: T | undefined, nowMs: number): T | undefined {
  return window && window.endsAtMs > nowMs ? window : undefined;
}

function forgetOld(record: QuotaRecord, nowMs: number): void {
  dropBelow(record.minuteSlots, slotOf(nowMs, SLOT_MS) - MINUTE_SLOTS);
  dropBelow(record.daySlots, slotOf(nowMs, DAY_SLOT_MS) - DAY_SLOTS);
}

/** How much of what is free one process may take: its even part first, and the rest except the even parts of other active processes. */
function partOf({ members }: QuotaRecord, member: string, { free, nowMs }: { free: number; nowMs: number }): number {
  const all = Object.values(members);
  const even = Math.floor(all.reduce((total, { granted }) => total + granted, free) / all.length);
  const kept = Object.entries(members).reduce((total, [name, { granted, requestedAtMs }]) => {
    return name === member || nowMs - requestedAtMs > PRESENT_MS ? total : total + Math.max(0, even - granted);
  }, 0);
  const lacking = Math.max(0, even - (members[member]?.granted ?? 0));
  return Math.max(free - kept, lacking > 0 ? Math.max(1, Math.floor((free * lacking) / (lacking + kept))) : 0);
}

/** The number of the time slot that an instant lies in. */
function slotOf(nowMs: number, slotMs: number): number {
  return Math.floor(nowMs / slotMs);
}

/** Deletes the slots before `first`. */
function dropBelow(slots: SlotCounts, first: number): void {
  for (const slot of Object.keys(slots)) if (Number(slot) < first) delete slots[slot];
}

/** Adds to the count of a slot. */
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
function sum(slots: SlotCounts, first = 0): number {
  return Object.entries(slots).reduce((total, [slot, granted]) => (Number(slot) < first ? total : total + granted), 0);
}

/** When the oldest slot that holds anything leaves the rolling count. */
function firstSlotMs(slots: SlotCounts, slotMs: number, kept: number): number {
  const first = Object.keys(slots).find((slot) => slots[slot]);
  return first ? (Number(first) + kept + 1) * slotMs : 0;
}
