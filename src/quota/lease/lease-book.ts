import type { HeardWindow, LeaseAnswer, LeaseAsk } from '../../quota-store.ts';
import { UNLIMITED } from '../ledger/settings.ts';
import { type BookMember, evenPart } from './even-part.ts';
import { add, dropBelow, firstSlotMs, type SlotCounts, slotOf, sum } from './slot-counts.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** The rolling counts of plan and day are cut into so many slots. */
const MINUTE_SLOTS = 12;
const SLOT_MS = MINUTE_MS / MINUTE_SLOTS;
const DAY_SLOTS = 24;
/** A probe without an answer lets the next one go. */
const PROBE_PATIENCE_MS = 1000;
/** How soon to ask again while another process's probe is out. */
const PROBE_POLL_MS = 25;
/** One lease is at most this part of the limit, and at most half of a process's part of what is left. */
const LEASES_OF_LIMIT = 20;
/** How soon a process asks again that has had its part, while others are still taking theirs. */
const PART_POLL_MS = 150;
/** Turns closer together than this do not renew the plan's count. */
const EARLIEST_TURN_MS = 54_000;
/** A book that was written further ahead than this says nothing: the clock was set back, and what it tells would hold for too long. */
const FUTURE_MS = 60_000;

/** One kind of window as the headers told it. */
export interface BookWindow {
  limit: number;
  left: number;
  /** The first Remaining that was told under this Reset. */
  told: number;
  resetAtMs: number;
  endsAtMs: number;
}

/** What a store keeps of one key; instants on the store's own clock. */
export interface LeaseBook {
  /** When it was written last. */
  writtenAtMs: number;
  closedUntilMs: number;
  probeBy: string;
  probeUntilMs: number;
  minute: BookWindow | undefined;
  day: BookWindow | undefined;
  limitPerDay: number | undefined;
  turnedAtMs: number;
  sinceTurn: number;
  /** Slots granted in each twelfth of a minute, and in each hour. */
  minuteSlots: SlotCounts;
  daySlots: SlotCounts;
  /** The processes that asked since the window began. */
  members: Record<string, BookMember>;
}

export function emptyBook(): LeaseBook {
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
    minuteSlots: {},
    daySlots: {},
    members: {},
  };
}

/**
 * What one process says and gets, written into the book. The script for Redis does the same in Lua, and the tests hold both against
 * each other. The time is a parameter.
 */
export function exchangeLease(book: LeaseBook, ask: LeaseAsk, nowMs: number): LeaseAnswer {
  if (book.writtenAtMs - nowMs > FUTURE_MS) Object.assign(book, emptyBook());
  book.writtenAtMs = nowMs;
  forgetOld(book, nowMs);
  // A process that knows the plan says so; one that has not heard from the service goes by what others knew.
  if (ask.plan.requestsPerDay !== undefined || (ask.minute && isFresh(book, ask.minute, nowMs))) book.limitPerDay = ask.plan.requestsPerDay;
  if (ask.closedForMs > 0) close(book, nowMs + ask.closedForMs);
  giveBack(book, ask, nowMs);
  hear(book, ask, nowMs);
  return ask.wanted > 0 ? grant(book, ask, nowMs) : refuse(book, { waitMs: 0, reason: 'quota' });
}

function close(book: LeaseBook, untilMs: number): void {
  book.closedUntilMs = Math.max(book.closedUntilMs, untilMs);
  book.probeUntilMs = 0;
  if (book.minute) book.minute.endsAtMs = 0;
}

function giveBack(book: LeaseBook, { returned, returnedOfMs, member }: LeaseAsk, nowMs: number): void {
  if (returned === 0) return;
  add(book.minuteSlots, slotOf(nowMs, SLOT_MS), -returned);
  add(book.daySlots, slotOf(nowMs, HOUR_MS), -returned);
  book.sinceTurn = Math.max(0, book.sinceTurn - returned);
  if (book.day) book.day.left += returned;
  if (book.minute?.resetAtMs !== returnedOfMs) return;
  book.minute.left += returned;
  if (book.members[member]) book.members[member].granted -= returned;
}

function hear(book: LeaseBook, ask: LeaseAsk, nowMs: number): void {
  if (ask.day && isFresh(book, ask.day, nowMs)) hearDay(book, ask.day, nowMs);
  if (ask.minute) hearEnd(book, ask.minute, nowMs);
  if (ask.minute && isFresh(book, ask.minute, nowMs)) hearMinute(book, ask, { ...ask.minute, nowMs });
  const isOwn = book.probeBy === ask.member && book.probeUntilMs > 0;
  if (!ask.isProbeAnswered || !isOwn) return;
  // The headers did not tell the minute: the plan alone counts, for a minute.
  if (!isKnown(book, nowMs))
    book.minute = { limit: UNLIMITED, left: UNLIMITED, told: UNLIMITED, resetAtMs: 0, endsAtMs: nowMs + MINUTE_MS };
  book.probeUntilMs = 0;
}

/** No process tells an end too early, so the earliest is the best. */
function hearEnd({ minute }: LeaseBook, { resetAtMs, endsInMs }: HeardWindow, nowMs: number): void {
  if (minute?.resetAtMs === resetAtMs) minute.endsAtMs = Math.min(minute.endsAtMs, nowMs + endsInMs);
}

/** What was heard before the key was closed says nothing about the time after it. */
function isFresh(book: LeaseBook, { endsInMs, agoMs }: HeardWindow, nowMs: number): boolean {
  return endsInMs > 0 && nowMs - agoMs >= book.closedUntilMs;
}

function hearDay(book: LeaseBook, { limit, remaining, resetAtMs, endsInMs }: HeardWindow, nowMs: number): void {
  if (book.day && resetAtMs < book.day.resetAtMs) return;
  const before = book.day?.resetAtMs === resetAtMs ? book.day.left : UNLIMITED;
  book.day = {
    limit,
    left: Math.min(before, remaining, book.limitPerDay ?? UNLIMITED),
    told: remaining,
    resetAtMs,
    endsAtMs: nowMs + endsInMs,
  };
}

function hearMinute(book: LeaseBook, ask: LeaseAsk, heard: HeardWindow & { nowMs: number }): void {
  const { limit, remaining, resetAtMs, endsInMs, nowMs } = heard;
  if (isKnown(book, nowMs) && book.minute) {
    // Within a window what is left only shrinks; what another Reset says is for after this one.
    if (resetAtMs === book.minute.resetAtMs) Object.assign(book.minute, { limit, left: Math.min(book.minute.left, remaining) });
    return;
  }
  const isOwnProbe = book.probeBy === ask.member;
  // Only the answer to a probe is surely newer: then the service's clock was set back.
  if (resetAtMs < (book.minute?.resetAtMs ?? 0) && !(isOwnProbe && ask.isProbeAnswered)) return;
  const isForgotten = book.minute === undefined && !isOwnProbe && !ask.isProbeAnswered;
  const probes = book.probeUntilMs > nowMs && !isOwnProbe ? 1 : 0;
  book.probeUntilMs = 0;
  // A store that knows nothing, and a process that does: the store came back empty. The window is the processes' own until it ends.
  const left = isForgotten ? 0 : Math.max(0, Math.min(remaining, ask.plan.requestsPerMinute ?? UNLIMITED) - probes);
  book.minute = { limit: isForgotten ? 0 : limit, left, told: remaining, resetAtMs, endsAtMs: nowMs + endsInMs };
}

function grant(book: LeaseBook, ask: LeaseAsk, nowMs: number): LeaseAnswer {
  if (book.closedUntilMs > nowMs) return refuse(book, { waitMs: book.closedUntilMs - nowMs, reason: 'closed' });
  if (!isKnown(book, nowMs)) return grantProbe(book, ask, nowMs);
  const { minute } = book;
  if (!minute) return grantProbe(book, ask, nowMs);
  if (minute.limit === 0) return refuse(book, { waitMs: minute.endsAtMs - nowMs, reason: 'lost' });
  if (book.members[ask.member] === undefined) minute.left = Math.max(0, minute.left - lateOf(ask, minute));
  const member = { granted: book.members[ask.member]?.granted ?? 0, askedAtMs: nowMs };
  book.members[ask.member] = member;
  const free = Math.min(minute.left, freeByPlan(book, ask), freeInDay(book, nowMs));
  if (free < 1) return refuse(book, { waitMs: waitMsOf(book, ask, nowMs), reason: 'quota' });
  const limit = Math.min(minute.limit, ask.plan.requestsPerMinute ?? UNLIMITED);
  const members = Object.keys(book.members).length;
  const own = evenPart(ask.member, { members: book.members, free, nowMs });
  if (own < 1) return refuse(book, { waitMs: Math.min(PART_POLL_MS, minute.endsAtMs - nowMs), reason: 'quota' });
  const most = Math.min(Math.max(1, Math.floor(limit / LEASES_OF_LIMIT)), Math.max(1, Math.floor(free / (2 * members))));
  const granted = Math.min(ask.wanted, most, own);
  count(book, { member: ask.member, granted, nowMs });
  return { granted, endsInMs: minute.endsAtMs - nowMs, windowMs: minute.resetAtMs, waitMs: 0, reason: 'quota', members };
}

/** Requests of the last window that are not in what the probe was told: those that are out, and those that the service counted after it. */
function lateOf({ unanswered, late }: LeaseAsk, minute: BookWindow): number {
  return unanswered + late.filter(({ resetAtMs, remaining }) => resetAtMs === minute.resetAtMs && remaining < minute.told).length;
}

/** What is left is not known: one request of all processes asks. */
function grantProbe(book: LeaseBook, ask: LeaseAsk, nowMs: number): LeaseAnswer {
  if (book.probeUntilMs > nowMs) return refuse(book, { waitMs: PROBE_POLL_MS, reason: 'probe' });
  turn(book, nowMs);
  if (Math.min(freeByPlan(book, ask), freeInDay(book, nowMs)) < 1)
    return refuse(book, { waitMs: waitMsOf(book, ask, nowMs), reason: 'quota' });
  book.members = { [ask.member]: { granted: 0, askedAtMs: nowMs } };
  book.probeBy = ask.member;
  book.probeUntilMs = nowMs + PROBE_PATIENCE_MS;
  count(book, { member: ask.member, granted: 1, nowMs });
  return { granted: 1, endsInMs: PROBE_PATIENCE_MS, windowMs: 0, waitMs: 0, reason: 'probe', members: 1 };
}

/** A window ended. The plan's count begins anew with it, but not more often than once a minute. */
function turn(book: LeaseBook, nowMs: number): void {
  const endedAtMs = book.minute?.endsAtMs ?? 0;
  if (endedAtMs === 0 || endedAtMs - book.turnedAtMs < EARLIEST_TURN_MS || (book.minute?.resetAtMs ?? 0) === 0 || nowMs < endedAtMs) return;
  book.turnedAtMs = endedAtMs;
  book.sinceTurn = 0;
}

function count(book: LeaseBook, { member, granted, nowMs }: { member: string; granted: number; nowMs: number }): void {
  if (book.minute && book.minute.endsAtMs > nowMs) book.minute.left -= granted;
  if (book.day) book.day.left -= granted;
  book.sinceTurn += granted;
  add(book.minuteSlots, slotOf(nowMs, SLOT_MS), granted);
  add(book.daySlots, slotOf(nowMs, HOUR_MS), granted);
  if (book.members[member]) book.members[member].granted += granted;
}

function freeByPlan(book: LeaseBook, { plan }: LeaseAsk): number {
  const limit = plan.requestsPerMinute ?? UNLIMITED;
  return limit - Math.min(sum(book.minuteSlots), book.sinceTurn);
}

function freeInDay(book: LeaseBook, nowMs: number): number {
  if (book.day && book.day.endsAtMs > nowMs) return book.day.left;
  return (book.limitPerDay ?? UNLIMITED) - sum(book.daySlots);
}

/** How long until something is free, where nothing is. */
function waitMsOf(book: LeaseBook, ask: LeaseAsk, nowMs: number): number {
  const dayMs = freeInDay(book, nowMs) >= 1 ? 0 : dayWaitMs(book, nowMs);
  const planMs = freeByPlan(book, ask) >= 1 ? 0 : firstSlotMs(book.minuteSlots, SLOT_MS, MINUTE_SLOTS) - nowMs;
  const minuteMs = isKnown(book, nowMs) && book.minute && book.minute.left < 1 ? book.minute.endsAtMs - nowMs : 0;
  return Math.max(1, dayMs, planMs, minuteMs);
}

function dayWaitMs(book: LeaseBook, nowMs: number): number {
  if (book.day && book.day.endsAtMs > nowMs) return book.day.endsAtMs - nowMs;
  return firstSlotMs(book.daySlots, HOUR_MS, DAY_SLOTS) - nowMs;
}

function refuse(book: LeaseBook, { waitMs, reason }: Pick<LeaseAnswer, 'waitMs' | 'reason'>): LeaseAnswer {
  return { granted: 0, endsInMs: 0, windowMs: 0, waitMs, reason, members: Object.keys(book.members).length };
}

function isKnown(book: LeaseBook, nowMs: number): boolean {
  return book.minute !== undefined && book.minute.endsAtMs > nowMs;
}

function forgetOld(book: LeaseBook, nowMs: number): void {
  dropBelow(book.minuteSlots, slotOf(nowMs, SLOT_MS) - MINUTE_SLOTS);
  dropBelow(book.daySlots, slotOf(nowMs, HOUR_MS) - DAY_SLOTS);
}
