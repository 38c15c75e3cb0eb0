import { isServiceFailure, isSuccess } from '../../contract/http.ts';
import type { Answer } from '../../contract/limits.ts';
import { DAY_MS, MINUTE_MS, PLANS, type PlanLimits } from '../../contract/plans.ts';
import type { WaitReason } from '../../events.ts';
import type { ObservedWindow } from '../../quota-store.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { Cooldown } from './cooldown.ts';
import { HeadRoom } from './head-room.ts';
import { Outstanding, type Sending } from './outstanding.ts';
import type { Quota, WindowQuota } from './quota.ts';
import { QuotaWindow, type Reading, type Reset } from './quota-window.ts';
import { ServerClock } from './server-clock.ts';
import { areOtherPlans, commonShare, limitsOf, type QuotaSettings, shareOf, stricterPlan, UNLIMITED } from './settings.ts';
import type { SharedWindows } from './share.ts';

/** How many requests may be sent now; if none, when to look again and why. `at` is infinite if only an answer can tell. */
export interface Outlook {
  free: number;
  at: number;
  /** When to look again at the latest, even if only an answer can tell. */
  lookAt?: number;
  reason: Exclude<WaitReason, 'order' | 'backoff'>;
  /** There is quota left, but the client has used its share. */
  isOfShare?: boolean;
  /** What is left is not known: a probe finds out. */
  isUnknown?: boolean;
}

/** How long to wait until the instant of an outlook, in milliseconds; 0 if only an answer can tell. */
export function waitMs({ at }: Outlook, nowMs: number): number {
  return Number.isFinite(at) ? Math.max(0, Math.ceil(at - nowMs)) : 0;
}

/** What is known of a key's quota, in the form in which it is reported to other processes. */
export interface Observed {
  plan: Partial<PlanLimits>;
  /** The limit of a day before it is cut to the share; left out without a share. */
  limitPerDay?: number;
  minute: ObservedWindow | undefined;
  day: ObservedWindow | undefined;
}

/** A plan that is larger than the service's limit. */
export interface Overstatement {
  window: 'minute' | 'day';
  planned: number;
  observed: number;
}

/** Why a request has no answer. */
export interface Loss {
  /** The service or the network is to blame, and not an abort or the caller's own code. */
  isFailure: boolean;
  /** The connection failed before the request was sent. */
  isUnsent: boolean;
}

/** The limits of minute and day; undefined if there is none. */
interface Limits {
  requestsPerMinute?: number | undefined;
  requestsPerDay?: number | undefined;
}

/** Requests whose bodies are not read yet, and calls that want to be sent. */
interface Load {
  inFlight: number;
  waiting: number;
}

/** As many requests are in flight as may be. */
export const FULL: Outlook = { free: 0, at: Number.POSITIVE_INFINITY, reason: 'in-flight' };

/** Shared by all ledgers until their first failure: before one, no method changes a circuit breaker. */
const NO_OUTAGE = new CircuitBreaker();

const SECOND_MS = 1_000;
const MINUTES_PER_DAY = 1_440;
/** A Reset further away than this cannot be the minute's. */
const LONGEST_MINUTE_MS = 120_000;
/** If `Date` is right, the minute's Reset is at most this far ahead, since both are cut to whole seconds. */
const USUAL_MINUTE_MS = 62_000;
/** Without a Reset a larger Limit is not believed to be the minute's. */
const LARGEST_LIMIT_WITHOUT_RESET = 10_000;
/** No window resets later than this. */
const LONGEST_DAY_MS = 25 * 3_600_000;
/** With little quota left, few requests may be in flight, since each may meet an unforeseen 429. */
const FEWEST_IN_FLIGHT = 8;
const KEPT_FROM_FLIGHT = 32;
/** The same while others send, whose requests in flight may be refused too. */
const FEWEST_BESIDE_OTHERS = 4;
/** While no header reports the day, it may be used up unseen; plans up to this limit lose no time with fewer requests in flight. */
const LARGEST_LIMIT_HELD_BACK = 300;
/** An eighth of such a limit may be in flight. */
const PARTS_WHILE_DAY_UNKNOWN = 8;
/** Calls that fit into the window are sent within this time, if answers take as long as usual. */
const HASTE_MS = 400;
/**
 * If more calls wait than fit into the window, a whole window's requests are sent within this time: the last calls wait for the next window
 * anyway. The time is short, since in a sliding log each slot comes back a minute after it was used.
 */
const LEISURE_MS = 1_500;
/** With one in flight, a slow answer would hold up all calls. */
const LEAST_IN_FLIGHT = 2;
/** After this many good answers in a row without Remaining, a service that used to report it counts as one that does not. */
const ANSWERS_WITHOUT_REMAINING = 5;
/** After the first unforeseen 429, a good answer without Remaining adds only this part of a request to those that may be in flight, not one. */
const MORE_IN_FLIGHT_UNREPORTED = 1 / 4;
/** Less than this part of a request of others is not worth a place. */
const LEAST_KEPT = 0.3;
/** The same where slots come back one by one: there a place is kept once, not in each window. */
const LEAST_KEPT_REFILLED = 0.05;
/** If others send too, observations expire after this time without an answer. */
const STALE_AFTER_MS = 2_000;
/** The same where slots come back one by one, in slots: the first one may be taken by others. */
const SLOTS_UNTIL_STALE = 2;

/**
 * Keeps what is known about one key's quota: the plan, what was sent, and what the answers said. From this it computes how many requests
 * may be sent at an instant so that the service refuses none. Pure arithmetic: no timers, the time is a parameter.
 */
export class Ledger {
  readonly #serverClock = new ServerClock();
  // `NO_OUTAGE` until a request fails.
  #outage = NO_OUTAGE;
  readonly #outstanding = new Outstanding();
  readonly #cooldown: Cooldown;
  readonly #headRoom = new HeadRoom();
  // Created with the first call.
  #minuteMade: QuotaWindow | undefined;
  #dayMade: QuotaWindow | undefined;
  #settings: QuotaSettings;
  // Both windows are cut to this part of the limits: the share of the key's only client; 1 if there are several clients, or if requests of
  // closed ones could use up a smaller share.
  #share: number;
  // The limits before the share: those of the plan, or those of Free until headers report others.
  #limits: Limits;
  // Whether the machine's clock may stand in for the server's. A 429 with a Reset and no `Date` sets it to false for good.
  #mayPresume = true;
  // If no client gave a plan, it is learned from the headers.
  #isPlanGiven: boolean;
  // Since when the remaining quota is unknown. Until a request sent after this instant is answered, one probe is sent at a time.
  #unknownSinceMs: number | undefined = Number.NEGATIVE_INFINITY;
  // Whether it is unknown because the service closed the key: no good answer has come since it opened again.
  #isReopening = false;
  // The latest probe, while it has no answer.
  #probe: Sending | undefined;
  // Whether headers ever reported Remaining, and how many good answers in a row have not.
  #hasRemaining = false;
  #unreported = 0;
  // How many requests may be in flight while no header reports Remaining; after an unforeseen 429, also where the quota may end unseen.
  // Good answers raise it, and a 429 lowers it.
  #cautious = LEAST_IN_FLIGHT;
  // Whether a 429 ever was unforeseen.
  #wasSurprised = false;

  constructor(settings: QuotaSettings, random: () => number = Math.random) {
    this.#settings = settings;
    this.#share = commonShare(settings);
    this.#limits = limitsOf(settings.plan ?? PLANS.free);
    this.#isPlanGiven = settings.plan !== undefined;
    this.#cooldown = new Cooldown(random);
  }

  get #minute(): QuotaWindow {
    this.#minuteMade ??= new QuotaWindow(shareOf(this.#limits.requestsPerMinute, this.#share), MINUTE_MS);
    return this.#minuteMade;
  }

  get #day(): QuotaWindow {
    this.#dayMade ??= new QuotaWindow(shareOf(this.#limits.requestsPerDay, this.#share), DAY_MS);
    return this.#dayMade;
  }

  /** When a request was sent last. */
  get lastSentAtMs(): number {
    return this.#outstanding.lastSentAtMs;
  }

  /** Requests whose answers, which could change the outlook, are still to come. */
  get unanswered(): number {
    return this.#outstanding.unanswered;
  }

  /** Since when the service is down; undefined while it is not. */
  get outageSinceMs(): number | undefined {
    return this.#outage.sinceMs;
  }

  /** Whether the service is down, or so many requests in a row failed that it may be. */
  get isOutageSuspected(): boolean {
    return this.#outage.isSuspected;
  }

  /** Until when the key is closed by the service; undefined while it is open. */
  closedUntilMs(nowMs: number): number | undefined {
    return this.#cooldown.untilMs > nowMs ? this.#cooldown.untilMs : undefined;
  }

  /** What the plan alone still allows now, after what was sent: no header can raise it. */
  ceiling(nowMs: number): number {
    return Math.min(this.#minute.ceiling(nowMs), this.#day.ceiling(nowMs));
  }

  /** When the ceiling lets a request pass again, in a second at the earliest, so that no timer spins. */
  ceilingLookAtMs(nowMs: number): number {
    return Math.max(nowMs + SECOND_MS, this.#minute.ceilingAt(nowMs), this.#day.ceilingAt(nowMs));
  }

  /** A limit of the given plan that is larger than what the headers say; undefined if there is none. */
  get overstatement(): Overstatement | undefined {
    if (!this.#isPlanGiven) return undefined;
    const { requestsPerMinute, requestsPerDay } = this.#limits;
    return (
      overstatementOf('minute', requestsPerMinute, this.#minute.observedLimit) ??
      overstatementOf('day', requestsPerDay, this.#day.observedLimit)
    );
  }

  /** What is reported to other processes on the key. */
  observed(nowMs: number): Observed {
    const minute = this.#minute.observed(nowMs);
    return { ...this.#plan(minute), minute, day: this.#day.observed(nowMs) };
  }

  /** The limits for all processes together, of the plan or learned from the headers: cut to the share, and the day's whole as well. */
  #plan(minute: ObservedWindow | undefined): Pick<Observed, 'plan' | 'limitPerDay'> {
    const { plan } = this.#settings;
    const share = this.#share;
    // A plan that was given without a daily limit has none, even if the store remembers that of an older plan.
    const { requestsPerMinute, requestsPerDay } =
      plan === undefined ? learnedPlan(minute, share) : { requestsPerDay: UNLIMITED, ...limitsOf(plan) };
    const cut = {
      ...(requestsPerMinute !== undefined && { requestsPerMinute: shareOf(requestsPerMinute, share) }),
      ...(requestsPerDay !== undefined && { requestsPerDay: shareOf(requestsPerDay, share) }),
    };
    return share < 1 && requestsPerDay !== undefined ? { plan: cut, limitPerDay: requestsPerDay } : { plan: cut };
  }

  /** What is known about both windows, as `petstore.quota` shows it. */
  snapshot(nowMs: number): Pick<Quota, 'minute' | 'day'> {
    this.#turnWindows(nowMs);
    return { minute: snapshotOf(this.#minute, nowMs), day: snapshotOf(this.#day, nowMs) };
  }

  /**
   * Adds another client of the key: the stricter plan counts for both, and each keeps to its own share and concurrency. Returns whether
   * the plans contradict each other.
   */
  join(settings: QuotaSettings): boolean {
    const known = this.#settings;
    this.#settings = {
      ...known,
      plan: stricterPlan(known.plan, settings.plan),
      concurrency: known.concurrency + settings.concurrency,
    };
    this.#isPlanGiven ||= settings.plan !== undefined;
    if (this.#isPlanGiven) this.#limits = limitsOf(this.#settings.plan);
    this.#share = 1;
    this.#resize();
    return areOtherPlans(known.plan, settings.plan);
  }

  /**
   * Takes the settings of a client in place of those of clients that were all closed. What answers have shown stays known. The windows are
   * not cut to a smaller share than before: requests of the closed clients could use it up.
   */
  restart(settings: QuotaSettings): void {
    if (settings.plan !== undefined) this.#limits = limitsOf(settings.plan);
    else if (this.#isPlanGiven) this.#limits = this.#observedLimits();
    this.#settings = settings;
    const share = commonShare(settings);
    this.#share = this.#minuteMade && share < this.#share ? 1 : share;
    this.#isPlanGiven = settings.plan !== undefined;
    this.#resize();
  }

  /** The limits as headers reported them, or else those of Free. */
  #observedLimits(): Limits {
    const requestsPerMinute = this.#minuteMade?.observedLimit ?? PLANS.free.requestsPerMinute;
    return { requestsPerMinute, requestsPerDay: this.#dayMade?.observedLimit ?? dayOfPlanWith(requestsPerMinute) };
  }

  #resize(): void {
    this.#minuteMade?.resize(shareOf(this.#limits.requestsPerMinute, this.#share));
    this.#dayMade?.resize(shareOf(this.#limits.requestsPerDay, this.#share));
  }

  /** The windows that the clients' shares are parts of; undefined if the windows are already cut to the share of a single client. */
  windowsToShare(nowMs: number): SharedWindows | undefined {
    if (this.#share < 1) return undefined;
    this.#turnWindows(nowMs);
    return { minute: this.#minute, day: this.#day };
  }

  /** Returns what may be sent now, with `inFlight` requests whose bodies are not read yet, and `waiting` calls that want to be sent. */
  look(nowMs: number, inFlight: number, waiting = 1): Outlook {
    if (this.#cooldown.untilMs > nowMs) return { free: 0, at: this.#cooldown.untilMs, reason: 'rate-limit' };
    this.#turnWindows(nowMs);
    const isFull = inFlight >= this.#settings.concurrency;
    if (this.#outage.sinceMs !== undefined) return isFull ? FULL : this.#lookInOutage(nowMs, this.#outage.sinceMs);
    const free = this.#free(nowMs);
    if (free <= 0) return { free: 0, at: this.#freeAt(nowMs), reason: 'quota', isOfShare: this.#isOnlyShareUsedUp(nowMs) };
    if (isFull) return FULL;
    if (this.#unknownSinceMs !== undefined) return this.#lookForProbe(nowMs, this.#unknownSinceMs);
    if (this.#outage.isSuspected) return this.#lookInDoubt(nowMs, inFlight);
    const slots = Math.floor(this.#mostInFlight(nowMs, { inFlight, waiting })) - inFlight;
    if (slots <= 0) return FULL;
    const sure = Math.min(free, this.#minute.sure(nowMs));
    return sure > 0 ? { free: Math.min(sure, slots), at: nowMs, reason: 'quota' } : this.#lookToAsk(nowMs);
  }

  /** Whether the client has a share, and no header says that the key's own quota is used up. */
  #isOnlyShareUsedUp(nowMs: number): boolean {
    return this.#share < 1 && [this.#minute, this.#day].every((window) => window.observed(nowMs)?.remaining !== 0);
  }

  /** The candidates disagree: one probe at a time. */
  #lookToAsk(nowMs: number): Outlook {
    return this.#slowDown(this.#outstanding.unanswered > 0, nowMs);
  }

  #free(nowMs: number): number {
    return Math.min(this.#minute.free(nowMs, this.#isReopening) - this.#kept(nowMs), this.#day.free(nowMs, this.#isReopening));
  }

  #freeAt(nowMs: number): number {
    const minuteAtMs = this.#minute.freeAt(1 + this.#kept(nowMs), nowMs, this.#isReopening);
    const unkeptAtMs = Math.max(this.#minute.freeAt(1, nowMs, this.#isReopening), this.#keptUntilMs(nowMs));
    return Math.max(nowMs, Math.min(minuteAtMs, unkeptAtMs), this.#day.freeAt(1, nowMs, this.#isReopening));
  }

  /**
   * Until when requests are left to others: until a burst of theirs no longer counts, or until what they sent is no longer fresh and a
   * probe asks whether they sent more. Where slots come back one by one, the next one comes as soon.
   */
  #keptUntilMs(nowMs: number): number {
    if (this.#minute.isRefilled) return Number.POSITIVE_INFINITY;
    const calmAtMs = this.#minute.calmAtMs(LEAST_KEPT / this.#unseenMs(nowMs));
    return calmAtMs > nowMs ? Math.min(calmAtMs, this.#staleAtMs) : this.#staleAtMs;
  }

  /**
   * For how long requests of others may go unseen: twice the usual time of an answer, and a second more in a log. Where slots come back one
   * by one, others use up those that came back since the last answer.
   */
  #unseenMs(nowMs: number): number {
    const { isLog, isRefilled, observedAtMs = nowMs } = this.#minute;
    const { usualMs } = this.#outstanding;
    if (isRefilled) return Math.max(2 * usualMs, nowMs - observedAtMs + usualMs);
    return 2 * usualMs + (isLog ? SECOND_MS : 0);
  }

  /** Requests that others may send unseen: at their usual pace, or for a shorter time in a log at that of a burst. */
  #ofOthers(nowMs: number): number {
    const { isLog, isRefilled, othersPerMs } = this.#minute;
    const unseenMs = this.#unseenMs(nowMs);
    const burstMs = isLog ? 2 * this.#outstanding.usualMs : unseenMs;
    const expected = Math.max(othersPerMs * unseenMs, this.#minute.latelyPerMs(nowMs) * burstMs);
    return Math.max(0, Math.ceil(expected - (isRefilled ? LEAST_KEPT_REFILLED : LEAST_KEPT)));
  }

  /** Requests that are left to others: head-room, and what they may send before an answer reports it. None for a probe. */
  #kept(nowMs: number): number {
    if (this.#unknownSinceMs !== undefined) return 0;
    const limit = Math.min(this.#minute.limit, this.#minute.most(nowMs));
    const ofBucket = this.#minute.isBucket && limit > 10 ? Math.ceil(0.5 + (limit * this.#outstanding.usualMs) / MINUTE_MS) : 0;
    return Math.min(this.#headRoom.within(limit) + this.#ofOthers(nowMs) + ofBucket, Math.floor(limit / 2));
  }

  #mostInFlight(nowMs: number, load: Load): number {
    if (this.#day.isNearRefusal) return 1;
    const { concurrency } = this.#settings;
    if (!this.#minute.isKnown) return Math.min(concurrency, this.#cautious);
    const left = Math.min(this.#minute.free(nowMs), this.#day.isKnown ? this.#day.free(nowMs) : Number.POSITIVE_INFINITY);
    const most = Math.min(concurrency, Math.max(FEWEST_IN_FLIGHT, Math.floor((left - KEPT_FROM_FLIGHT) / 4)));
    // An answered request whose body is still to come cannot meet a 429.
    const answered = load.inFlight - this.#outstanding.unanswered;
    const needed = this.#mayEndUnseen ? answered + this.#neededInFlight(left, load) : Number.POSITIVE_INFINITY;
    return Math.min(most, needed, this.#mayDayEndUnseen ? mostWhileDayUnknown(this.#minute.limit) : Number.POSITIVE_INFINITY);
  }

  /** As many requests in flight as speed needs, since each may meet an unforeseen 429; after one, few until good answers have come. */
  #neededInFlight(left: number, { inFlight, waiting }: Load): number {
    const { usualMs } = this.#outstanding;
    const fewest = this.#minute.isShared ? FEWEST_BESIDE_OTHERS : FEWEST_IN_FLIGHT;
    const needed =
      waiting <= left
        ? Math.max(fewest, Math.ceil(((inFlight + waiting) * usualMs) / HASTE_MS))
        : Math.max(LEAST_IN_FLIGHT, Math.ceil((this.#minute.limit * usualMs) / LEISURE_MS));
    return Math.min(needed, this.#mostInBurst(left), this.#mostAfterSurprise);
  }

  /** In a burst of others, a request or more in the time of two answers, half of what is left: they may send the other half unseen. */
  #mostInBurst(left: number): number {
    const { observedAtMs = 0 } = this.#minute;
    const isBurst = this.#minute.latelyPerMs(observedAtMs) * 2 * this.#outstanding.usualMs >= 1;
    return isBurst ? Math.max(1, Math.floor(left / 2)) : Number.POSITIVE_INFINITY;
  }

  get #mostAfterSurprise(): number {
    const isCautious = this.#wasSurprised && this.#cautious < FEWEST_IN_FLIGHT;
    return isCautious ? Math.max(LEAST_IN_FLIGHT, this.#cautious) : Number.POSITIVE_INFINITY;
  }

  /** Whether the quota may be used up before a header says so: the day, or by others the minute. */
  get #mayEndUnseen(): boolean {
    return this.#mayDayEndUnseen || this.#minute.isShared || this.#headRoom.within(this.#minute.limit) > 0;
  }

  /** Whether the day may be used up before any header reports it; false if the day allows as much as all its minutes together. */
  get #mayDayEndUnseen(): boolean {
    if (this.#day.isKnown) return false;
    return Number.isFinite(this.#day.limit) ? this.#day.limit < this.#minute.limit * MINUTES_PER_DAY : !this.#isPlanGiven;
  }

  /** One probe is sent at a time, and counts like any request; the next one only after its answer. */
  #lookInOutage(nowMs: number, sinceMs: number): Outlook {
    const at = this.#isProbed(sinceMs)
      ? Number.POSITIVE_INFINITY
      : Math.max(this.#outage.probeAtMs, this.#minute.freeAt(1, nowMs), this.#day.freeAt(1, nowMs));
    return { free: at > nowMs ? 0 : 1, at, reason: 'outage' };
  }

  #lookForProbe(nowMs: number, unknownSinceMs: number): Outlook {
    // After the key was closed, one request is sent first: others before its answer may be refused too. That probe may be older than the
    // latest closure: an answer to an earlier request can close the key again.
    if (this.#isReopening && this.#probe !== undefined) return FULL;
    return this.#slowDown(!this.#isReopening && this.#outstanding.isSince(unknownSinceMs), nowMs);
  }

  /** While an outage is only suspected, one request at a time finds out whether it is one. */
  #lookInDoubt(nowMs: number, inFlight: number): Outlook {
    return { ...this.#slowDown(inFlight > 0, nowMs), reason: 'outage' };
  }

  /** Allows one request: while another one is out, once that should have been answered; a little later if the last ones failed. */
  #slowDown(isOut: boolean, nowMs: number): Outlook {
    const { probeAtMs } = this.#outage;
    const readyAtMs = isOut ? this.#outstanding.lastSentAtMs + this.#outstanding.patienceMs : nowMs;
    const at = Math.max(probeAtMs, readyAtMs);
    return { free: at > nowMs ? 0 : 1, at, reason: probeAtMs > readyAtMs ? 'outage' : 'quota', isUnknown: true };
  }

  #isProbed(sinceMs: number): boolean {
    return this.#probe !== undefined && this.#probe.atMs >= sinceMs;
  }

  send(nowMs: number): Sending {
    const isInvitedByMinute = this.#minute.add(nowMs);
    const wasInvited = this.#day.add(nowMs) || isInvitedByMinute;
    const { lastSentAtMs: previousAtMs, settled: settledBefore } = this.#outstanding;
    const sending = { atMs: nowMs, wasPlanned: this.#unknownSinceMs === undefined, wasInvited, previousAtMs, settledBefore };
    this.#outstanding.send(nowMs);
    if (this.#unknownSinceMs !== undefined || this.#outage.sinceMs !== undefined) this.#probe = sending;
    return sending;
  }

  /** The request was not sent after all. */
  unsend(sending: Sending, nowMs: number): void {
    this.#minute.remove(nowMs, sending.wasInvited);
    this.#day.remove(nowMs, sending.wasInvited);
    this.#outstanding.unsend(sending);
    this.#settleProbe(sending);
  }

  /** No answer came. */
  lose(sending: Sending, { isFailure, isUnsent }: Loss, nowMs: number): void {
    this.#outstanding.lose();
    // The request may have arrived as late as now.
    this.#minute.answer(sending.atMs, nowMs);
    this.#day.answer(sending.atMs, nowMs);
    this.#countUncounted();
    this.#settleProbe(sending);
    if (isFailure && (isUnsent || this.#isProbeOfOutage(sending))) this.#uncount(sending, nowMs);
    if (isFailure) this.#fail(sending, nowMs);
  }

  #fail({ atMs }: Sending, nowMs: number): void {
    if (this.#outage === NO_OUTAGE) this.#outage = new CircuitBreaker();
    this.#outage.fail(atMs, nowMs);
  }

  #isProbeOfOutage({ atMs }: Sending): boolean {
    const { sinceMs } = this.#outage;
    return sinceMs !== undefined && atMs >= sinceMs;
  }

  /**
   * Takes a failed request from the count of the day: otherwise the probes of some hours without a network would use up a day of which the
   * service has counted nothing.
   */
  #uncount(sending: Sending, nowMs: number): void {
    sending.isUncounted = true;
    this.#day.remove(nowMs);
  }

  #countUncounted(): void {
    this.#minute.countUncounted();
    this.#day.countUncounted();
  }

  /** The body of an answer failed after its headers. */
  break(sending: Sending, nowMs: number): void {
    this.#fail(sending, nowMs);
  }

  /** The body of an answer came. Returns whether the next probe may now go at another time. */
  prove({ answeredAtMs }: Sending): boolean {
    const { probeAtMs } = this.#outage;
    if (answeredAtMs !== undefined) this.#outage.succeed(answeredAtMs);
    return this.#outage.probeAtMs !== probeAtMs;
  }

  #settleProbe(sending: Sending): void {
    if (this.#probe === sending) this.#probe = undefined;
  }

  /** Learns from the headers of an answer. */
  observe(sending: Sending, answer: Answer, nowMs: number): void {
    sending.answeredAtMs = nowMs;
    const concurrent = this.#outstanding.concurrentWith(sending);
    this.#outstanding.observe(sending.atMs, nowMs);
    this.#minute.answer(sending.atMs, nowMs);
    this.#day.answer(sending.atMs, nowMs);
    this.#settleProbe(sending);
    this.#observeHealth(sending, answer, nowMs);
    if (answer.status >= 400) this.#countUncounted();
    const subject = this.#observeWindow(sending, answer, concurrent, nowMs);
    this.#alignCounter(nowMs);
    if (subject !== this.#minute) this.#observeUnreported(sending, answer, concurrent, nowMs);
    if (answer.status === 429) this.#observeRefusal(sending, answer, subject, nowMs);
    else if (answer.status === 503 && answer.retryAfterMs !== undefined) this.#close(answer, nowMs);
    else if (!isServiceFailure(answer.status)) this.#observeGood(sending, answer, subject);
  }

  #observeWindow(sending: Sending, answer: Answer, concurrent: number, nowMs: number): QuotaWindow | undefined {
    const exchange = { sentAtMs: sending.atMs, nowMs };
    if (answer.dateMs !== undefined && this.#serverClock.observeDate(answer.dateMs, exchange)) this.#forget(nowMs);
    const subject = this.#windowOf(answer, nowMs);
    if (!subject) return undefined;
    if (answer.dateMs === undefined) this.#observeClock(answer, subject, exchange);
    const reset = this.#resetOf(answer, sending, nowMs);
    const limit = answer.limit ?? this.#leastLimit(answer, subject);
    if (limit !== undefined) this.#observeLimit(subject, limit, answer, reset);
    const { status, remaining, retryAfterMs } = answer;
    const serverMs = this.#serverMs(answer, nowMs);
    const { unanswered } = this.#outstanding;
    subject.observe({ status, remaining, retryAfterMs, serverMs, reset, unanswered, concurrent, ...exchange });
    return subject;
  }

  /**
   * A weighted counter turns with the minutes of the server's clock, so that it is possible before any Reset. It takes memory, and a single
   * answer says nothing about it.
   */
  #alignCounter(nowMs: number): void {
    const serverMs = this.#serverClock.atLeast(nowMs);
    if (Number.isFinite(serverMs) && this.#outstanding.settled > 1)
      this.#minute.alignCounter(nowMs + MINUTE_MS - (serverMs % MINUTE_MS), nowMs);
  }

  /** No header describes the minute, but the request passed or was refused. */
  #observeUnreported({ atMs: sentAtMs }: Sending, { status, retryAfterMs }: Answer, concurrent: number, nowMs: number): void {
    // The refusals of requests that were sent together have one cause.
    if (status === 429 && sentAtMs < this.#cooldown.untilMs) return;
    const { unanswered } = this.#outstanding;
    this.#minute.observeUnreported({ status, remaining: undefined, retryAfterMs, unanswered, concurrent, sentAtMs, nowMs });
  }

  /** Learns the server's clock from a Reset that comes without a `Date`. */
  #observeClock(
    { status, resetAtMs, receivedAtMs }: Answer,
    { lengthMs }: QuotaWindow,
    exchange: Pick<Reading, 'sentAtMs' | 'nowMs'>,
  ): void {
    if (resetAtMs === undefined) return;
    this.#mayPresume &&= status !== 429;
    this.#serverClock.presume(this.#mayPresume ? receivedAtMs : undefined, exchange.nowMs);
    if (this.#serverClock.observeReset(resetAtMs, lengthMs, exchange)) this.#forget(exchange.nowMs);
  }

  /** The server's time when an answer came: its `Date`, or the latest possible. A Reset from now on is independent of it. */
  #serverMs({ dateMs, resetInMs }: Answer, nowMs: number): number {
    if (dateMs !== undefined) return dateMs;
    if (resetInMs === undefined) return this.#serverClock.atMost(nowMs);
    const serverMs = this.#serverClock.atLeast(nowMs);
    return Number.isFinite(serverMs) ? serverMs : nowMs;
  }

  #resetOf(answer: Answer, { atMs: sentAtMs }: Sending, nowMs: number): Reset | undefined {
    const { resetAtMs, resetInMs, dateMs } = answer;
    if (resetInMs !== undefined) {
      const atMs = this.#serverMs(answer, nowMs) + resetInMs;
      return { atMs, endsAtMs: nowMs + resetInMs, slackMs: 1000 + nowMs - sentAtMs };
    }
    if (resetAtMs === undefined) return undefined;
    const serverMs = Math.max(dateMs ?? Number.NEGATIVE_INFINITY, this.#serverClock.presumed(nowMs));
    return { atMs: resetAtMs, endsAtMs: nowMs + resetAtMs - serverMs, slackMs: 0 };
  }

  #forget(nowMs: number): void {
    this.#minute.forgetReset(nowMs);
    this.#day.forgetReset(nowMs);
    this.#unknownSinceMs ??= nowMs;
  }

  /** The window that the headers describe; undefined if they describe none. */
  #windowOf(answer: Answer, nowMs: number): QuotaWindow | undefined {
    const { limit, remaining, resetAtMs, resetInMs, dateMs } = answer;
    if ((limit ?? remaining ?? resetAtMs ?? resetInMs) === undefined) return undefined;
    // A lower bound.
    const aheadMs = aheadOf({ resetAtMs, resetInMs }, dateMs ?? this.#serverClock.atMost(nowMs));
    if (aheadMs !== undefined && aheadMs > LONGEST_DAY_MS) return undefined;
    if (aheadMs !== undefined && aheadMs > LONGEST_MINUTE_MS) return this.#isOfMinute(answer) ? this.#minute : this.#day;
    return this.#isOfDay(answer, aheadMs) ? this.#day : this.#minute;
  }

  /**
   * Whether an answer describes the day, although its Reset is as near as the minute's may be: its Limit was the day's before, is that of
   * the plan, or is larger than the minute's and has a later Reset.
   */
  #isOfDay({ limit, resetAtMs }: Answer, aheadMs = 0): boolean {
    const ofMinute = this.#minute.observedLimit;
    if (limit === undefined || limit === ofMinute) return false;
    if (limit === this.#day.observedLimit && (ofMinute === undefined || resetAtMs === this.#day.resetAtMs)) return true;
    const isLater = aheadMs > USUAL_MINUTE_MS;
    if (limit === this.#day.limit && limit !== this.#minute.limit) return this.#isPlanGiven || isLater;
    return isLater && ofMinute !== undefined && limit > ofMinute;
  }

  /**
   * Whether an answer describes the minute, although by its `Date` the Reset is too far ahead: `Date` is wrong if the Limit is the minute's,
   * and the Reset is near by the machine's clock.
   */
  #isOfMinute({ limit, resetAtMs, receivedAtMs }: Answer): boolean {
    if (limit === undefined || limit === this.#day.limit || resetAtMs === undefined) return false;
    if (resetAtMs - receivedAtMs > LONGEST_MINUTE_MS) return false;
    return limit === this.#minute.observedLimit || (this.#isPlanGiven && limit === this.#limits.requestsPerMinute);
  }

  #observeLimit(subject: QuotaWindow, limit: number, { remaining }: Answer, reset: Reset | undefined): void {
    if (!subject.observeLimit(limit, remaining)) return;
    if (this.#isPlanGiven) {
      // The share is that of what the service allows, if that is less than the plan.
      const { requestsPerMinute, requestsPerDay } = this.#limits;
      const planned = (subject === this.#minute ? requestsPerMinute : requestsPerDay) ?? limit;
      if (this.#share < 1) subject.resize(shareOf(Math.min(planned, limit), this.#share));
      return;
    }
    if (!reset && subject === this.#minute && limit > LARGEST_LIMIT_WITHOUT_RESET) return;
    // The limit of one window identifies the plan, and so that of the other, until headers report it too.
    const { requestsPerMinute, requestsPerDay } = this.#limits;
    this.#limits =
      subject === this.#day
        ? { requestsPerMinute: this.#minute.observedLimit ?? minuteOfPlanWith(limit) ?? requestsPerMinute, requestsPerDay: limit }
        : { requestsPerMinute: limit, requestsPerDay: this.#day.isKnown ? requestsPerDay : dayOfPlanWith(limit) };
    this.#resize();
  }

  /** Without a Limit or a plan, the limit is at least Remaining and 1, which is the request itself. */
  #leastLimit({ remaining }: Answer, subject: QuotaWindow): number | undefined {
    const isPlanned = this.#isPlanGiven && Number.isFinite(subject.limit);
    if (remaining === undefined || remaining > LARGEST_LIMIT_WITHOUT_RESET || isPlanned) return undefined;
    return Number.isFinite(subject.limit) && remaining < subject.limit ? undefined : remaining + 1;
  }

  /** A 2xx alone does not prove that the service is up: its body is reported later. */
  #observeHealth(sending: Sending, answer: Answer, nowMs: number): void {
    if (isServiceFailure(answer.status)) this.#observeFailure(sending, answer, nowMs);
    else if (isSuccess(answer.status)) this.#outage.hope(sending.atMs, nowMs);
    else this.#outage.succeed(nowMs);
  }

  #observeFailure(sending: Sending, { remaining }: Answer, nowMs: number): void {
    if (remaining === undefined && this.#isProbeOfOutage(sending)) this.#uncount(sending, nowMs);
    this.#fail(sending, nowMs);
  }

  #observeRefusal(sending: Sending, answer: Answer, subject: QuotaWindow | undefined, nowMs: number): void {
    const isReported = subject !== undefined && answer.remaining === 0;
    if (sending.wasPlanned) this.#headRoom.widen(this.#minute.limit);
    if (sending.wasPlanned || !isReported) {
      this.#cautious = 1;
      this.#wasSurprised = true;
    }
    this.#cooldown.strike(sending.atMs);
    this.#close(answer, nowMs, subject === this.#minute && (answer.remaining ?? 0) > 0);
    const isDay = (answer.retryAfterMs ?? 0) > LONGEST_MINUTE_MS;
    const refused = isReported ? subject : isDay ? this.#day : this.#minute;
    if (answer.retryAfterMs !== undefined) refused.askAt(this.#cooldown.untilMs, this.#cooldown.isFirst);
    if (!isReported && (subject !== refused || answer.remaining === undefined)) refused.learnLimit(sending, nowMs);
  }

  #close({ remaining, resetAtMs, resetInMs, retryAfterMs, dateMs }: Answer, nowMs: number, isOfDay = false): void {
    const endsInMs = aheadOf({ resetAtMs, resetInMs }, dateMs ?? this.#serverClock.atLeast(nowMs));
    const isBelievable = remaining === 0 && endsInMs !== undefined && endsInMs <= LONGEST_DAY_MS;
    this.#cooldown.close(retryAfterMs, isBelievable ? nowMs + endsInMs : undefined, nowMs, isOfDay);
    this.#reopen();
  }

  /** Closes the key because another process reported a closure. */
  closeUntil(instantMs: number): void {
    this.#cooldown.closeUntil(instantMs);
    this.#reopen();
  }

  #reopen(): void {
    this.#unknownSinceMs = this.#cooldown.untilMs;
    this.#isReopening = true;
  }

  /**
   * A good answer to a request sent since the remaining quota is unknown makes it known. If headers have reported Remaining before, only an
   * answer that reports it does.
   */
  #observeGood(sending: Sending, { remaining }: Answer, subject: QuotaWindow | undefined): void {
    this.#headRoom.narrow(this.#minute.isRefilled);
    this.#cooldown.forgive(sending.atMs);
    const isReported = remaining !== undefined && subject === this.#minute;
    const more = isReported || !this.#wasSurprised ? 1 : MORE_IN_FLIGHT_UNREPORTED;
    this.#cautious = Math.min(FEWEST_IN_FLIGHT, this.#cautious + more);
    if (isReported) this.#hasRemaining = true;
    this.#unreported = isReported ? 0 : this.#unreported + 1;
    if (this.#unknownSinceMs === undefined || sending.atMs < this.#unknownSinceMs) return;
    if (this.#isReopening) this.#day.reopen(sending.atMs);
    this.#isReopening = false;
    if (isReported || !this.#hasRemaining || this.#unreported >= ANSWERS_WITHOUT_REMAINING) this.#unknownSinceMs = undefined;
  }

  #turnWindows(nowMs: number): void {
    const { unanswered } = this.#outstanding;
    const isDayOver = this.#day.isOver(nowMs);
    const wasDayShared = isDayOver && this.#day.hasOthers;
    if (isDayOver) this.#forgetLimitOfDay();
    const minuteAsks = this.#minute.turn(nowMs, unanswered);
    const dayAsks = this.#day.turn(nowMs, unanswered);
    if (minuteAsks || dayAsks || wasDayShared || nowMs >= this.#staleAtMs) this.#unknownSinceMs ??= nowMs;
  }

  /** Until an answer of the next day names it again: it may have been that of another endpoint, or of an older plan. */
  #forgetLimitOfDay(): void {
    this.#day.forgetLimit();
    if (!this.#isPlanGiven) this.#limits = this.#observedLimits();
    this.#resize();
  }

  /**
   * From when on others may have sent since an answer last reported Remaining; infinite while a request is unanswered. Where slots come back
   * one by one, not before two of them have: a probe would take the first one, which others wait for.
   */
  get #staleAtMs(): number {
    const { observedAtMs, othersPerMs, isLog, isRefilled, hasOthers, limit } = this.#minute;
    if (observedAtMs === undefined || this.#outstanding.unanswered > 0) return Number.POSITIVE_INFINITY;
    const refillMs = isRefilled ? (SLOTS_UNTIL_STALE * MINUTE_MS) / limit : 0;
    return observedAtMs + Math.max(STALE_AFTER_MS, refillMs, isLog && hasOthers ? 0 : 0.5 / othersPerMs);
  }
}

/** Fewer for a smaller limit, which few requests in flight use up just as fast. */
function mostWhileDayUnknown(limit: number): number {
  if (limit > LARGEST_LIMIT_HELD_BACK) return Number.POSITIVE_INFINITY;
  return Math.min(FEWEST_IN_FLIGHT, Math.max(LEAST_IN_FLIGHT, Math.ceil(limit / PARTS_WHILE_DAY_UNKNOWN)));
}

/** How far ahead a Reset is, in milliseconds; undefined if the server's time is not known. */
function aheadOf(
  { resetAtMs, resetInMs }: { resetAtMs: number | undefined; resetInMs: number | undefined },
  serverMs: number,
): number | undefined {
  if (resetInMs !== undefined) return resetInMs;
  return resetAtMs !== undefined && Number.isFinite(serverMs) ? resetAtMs - serverMs : undefined;
}

/** The minute's limit of the plan with this limit of the day. */
function minuteOfPlanWith(requestsPerDay: number): number | undefined {
  return Object.values(PLANS).find((plan) => plan.requestsPerDay === requestsPerDay)?.requestsPerMinute;
}

/** The day's limit of the plan with this limit of the minute. */
function dayOfPlanWith(requestsPerMinute: number | undefined): number | undefined {
  return Object.values(PLANS).find((plan) => plan.requestsPerMinute === requestsPerMinute)?.requestsPerDay;
}

/**
 * The limits that the observed minute implies: its limit identifies the plan, and so the day's limit until the minute ends. Its own limit
 * is included only if the client uses a share of it.
 */
function learnedPlan(minute: ObservedWindow | undefined, share: number): Partial<PlanLimits> {
  const requestsPerDay = dayOfPlanWith(minute?.limit);
  return {
    ...(minute && share < 1 && { requestsPerMinute: minute.limit }),
    ...(minute && minute.endsInMs > 0 && requestsPerDay !== undefined && { requestsPerDay }),
  };
}

function overstatementOf(
  window: Overstatement['window'],
  planned: number | undefined,
  observed: number | undefined,
): Overstatement | undefined {
  // A plan without a limit overstates nothing.
  return planned !== undefined && observed !== undefined && observed < planned ? { window, planned, observed } : undefined;
}

function snapshotOf(window: QuotaWindow, nowMs: number): WindowQuota {
  const { limit, resetAtMs } = window;
  const left = Math.max(0, window.free(nowMs));
  return {
    limit: Number.isFinite(limit) ? limit : undefined,
    remaining: Number.isFinite(left) ? left : undefined,
    resetAt: resetAtMs === undefined ? undefined : new Date(resetAtMs),
  };
}
