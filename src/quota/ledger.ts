import type { Answer } from '../contract/limits.ts';
import type { WaitReason } from '../events.ts';
import { Budget } from './budget.ts';
import { Closing } from './closing.ts';
import { isPromising, isServiceFailure, Outage } from './outage.ts';
import { Outstanding, type Sending } from './outstanding.ts';
import type { Quota } from './quota.ts';
import { ServerClock } from './server-clock.ts';
import { namesOfDifferences, type QuotaSettings, stricterPlan } from './settings.ts';

/** How many requests may be sent now; where none, when to look again and why. `at` is infinite where only an answer can tell. */
export interface Outlook {
  free: number;
  at: number;
  /** When to look at the latest, though only an answer can tell. */
  lookAt?: number;
  reason: WaitReason;
}

/** How long an outlook makes wait; 0 where only an answer can tell. */
export function waitMs({ at }: Outlook, nowMs: number): number {
  return Number.isFinite(at) ? Math.max(0, Math.ceil(at - nowMs)) : 0;
}

/** All requests that may be in flight are. */
const FULL: Outlook = { free: 0, at: Number.POSITIVE_INFINITY, reason: 'in-flight' };

/**
 * What is known of one key's quota: the plan, what was sent, what the answers said. It tells how many requests may be sent at an
 * instant so that the service refuses none. Pure arithmetic: no timers, the time is a parameter.
 */
export class Ledger {
  readonly #serverClock = new ServerClock();
  readonly #outage = new Outage();
  readonly #outstanding = new Outstanding();
  readonly #closing: Closing;
  readonly #budget: Budget;
  #settings: QuotaSettings;
  // Requests sent since then tell how much is left; before such an answer the budget is unknown and one probe goes at a time.
  #unknownSinceMs: number | undefined = Number.NEGATIVE_INFINITY;
  // It is unknown because the service closed the key.
  #isReopening = false;
  // The latest request that asks how things stand, while it has no answer.
  #probe: Sending | undefined;

  constructor(settings: QuotaSettings, random: () => number = Math.random) {
    this.#settings = settings;
    this.#budget = new Budget(settings, this.#serverClock);
    this.#closing = new Closing(random);
  }

  /** What counts for all clients of the key. */
  get settings(): QuotaSettings {
    return this.#settings;
  }

  /** When a request was sent last. */
  get lastSentAtMs(): number {
    return this.#outstanding.lastSentAtMs;
  }

  /** Whether an answer is out that could change the outlook. */
  get isWaitingForAnswer(): boolean {
    return this.#outstanding.unanswered > 0;
  }

  /** Since when the service is down; undefined while it is not. */
  get outageSinceMs(): number | undefined {
    return this.#outage.sinceMs;
  }

  /** Until when the key is closed by the service; undefined while it is open. */
  closedUntilMs(nowMs: number): number | undefined {
    return this.#closing.untilMs > nowMs ? this.#closing.untilMs : undefined;
  }

  /** What the plan alone still allows now: the second count, which no header can raise. */
  ceiling(nowMs: number): number {
    return this.#budget.ceiling(nowMs);
  }

  /** What is known of both windows, for people. */
  snapshot(nowMs: number): Pick<Quota, 'minute' | 'day'> {
    this.#turnWindows(nowMs);
    return this.#budget.snapshot(nowMs, this.#outstanding.uncounted);
  }

  /** Takes the stricter of two settings, for a second client on the same key. Gives the names of those that differ. */
  tighten(settings: QuotaSettings): string[] {
    const known = this.#settings;
    this.#settings = {
      plan: stricterPlan(known.plan, settings.plan),
      concurrency: Math.min(known.concurrency, settings.concurrency),
      share: Math.min(known.share, settings.share),
    };
    this.#budget.tighten(settings);
    return namesOfDifferences(known, settings);
  }

  /** Tells what may be sent now, with `inFlight` requests whose bodies are not read yet. */
  look(nowMs: number, inFlight: number): Outlook {
    if (this.#closing.untilMs > nowMs) return { free: 0, at: this.#closing.untilMs, reason: 'rate-limit' };
    this.#turnWindows(nowMs);
    const isFull = inFlight >= this.#settings.concurrency;
    if (this.#outage.sinceMs !== undefined) return isFull ? FULL : this.#lookInOutage(nowMs, this.#outage.sinceMs);
    const { uncounted } = this.#outstanding;
    const free = this.#budget.free(nowMs, uncounted);
    if (free <= 0) return { free: 0, at: this.#budget.freeAt(nowMs, uncounted), reason: 'quota' };
    if (isFull) return FULL;
    if (this.#unknownSinceMs !== undefined) return this.#lookForProbe(nowMs, this.#unknownSinceMs);
    if (this.#outage.isSuspected) return this.#lookInDoubt(nowMs, inFlight);
    const slots = this.#budget.mostInFlight(nowMs, this.#settings.concurrency) - inFlight;
    if (slots <= 0) return FULL;
    return { free: Math.min(free, slots), at: nowMs, reason: 'quota' };
  }

  /** One request asks at a time, and pays from the plan like any other; only its answer lets the next one go. */
  #lookInOutage(nowMs: number, sinceMs: number): Outlook {
    const { unanswered } = this.#outstanding;
    const at = this.#isProbed(sinceMs)
      ? Number.POSITIVE_INFINITY
      : Math.max(this.#outage.probeAtMs, this.#budget.freeAt(nowMs, unanswered));
    return { free: at > nowMs ? 0 : 1, at, reason: 'outage' };
  }

  #lookForProbe(nowMs: number, unknownSinceMs: number): Outlook {
    // A key that was closed is asked once: whatever goes before the answer may be refused too.
    if (this.#isReopening && this.#isProbed(unknownSinceMs)) return FULL;
    const isOut = !this.#isReopening && this.#outstanding.isSince(unknownSinceMs);
    return this.#slowDown(isOut ? this.#outstanding.lastSentAtMs + this.#outstanding.patienceMs : nowMs, nowMs);
  }

  /** Before it is an outage, one request at a time finds out whether it will be. */
  #lookInDoubt(nowMs: number, inFlight: number): Outlook {
    const readyAtMs = inFlight > 0 ? this.#outstanding.lastSentAtMs + this.#outstanding.patienceMs : nowMs;
    return { ...this.#slowDown(readyAtMs, nowMs), reason: 'outage' };
  }

  /** Failed probes leave a little time between them. */
  #slowDown(readyAtMs: number, nowMs: number): Outlook {
    const { probeAtMs } = this.#outage;
    const at = Math.max(probeAtMs, readyAtMs);
    return { free: at > nowMs ? 0 : 1, at, reason: probeAtMs > readyAtMs ? 'outage' : 'quota' };
  }

  #isProbed(sinceMs: number): boolean {
    return this.#probe !== undefined && this.#probe.atMs >= sinceMs;
  }

  send(nowMs: number): Sending {
    this.#budget.send(nowMs);
    const sending = { atMs: nowMs, wasPlanned: this.#unknownSinceMs === undefined, previousAtMs: this.#outstanding.lastSentAtMs };
    this.#outstanding.send(nowMs);
    if (this.#unknownSinceMs !== undefined || this.#outage.sinceMs !== undefined) this.#probe = sending;
    return sending;
  }

  /** The request was not sent after all. */
  unsend(sending: Sending, nowMs: number): void {
    this.#budget.unsend(nowMs);
    this.#outstanding.unsend(sending);
    this.#settleProbe(sending);
  }

  /** No answer came; `isFailure` where the service or the network is to blame, and not an abort. */
  lose(sending: Sending, isFailure: boolean, nowMs: number): void {
    this.#outstanding.lose(nowMs);
    this.#settleProbe(sending);
    if (isFailure) this.#outage.fail(sending.atMs, nowMs);
  }

  /** The body of an answer broke after its headers. */
  break(sending: Sending, nowMs: number): void {
    this.#outage.fail(sending.atMs, nowMs);
  }

  /** The service did what it promised with the headers of an answer. Tells whether anybody doubted it. */
  prove({ heardAtMs }: Sending): boolean {
    const { probeAtMs } = this.#outage;
    if (heardAtMs !== undefined) this.#outage.succeed(heardAtMs);
    return this.#outage.probeAtMs !== probeAtMs;
  }

  #settleProbe(sending: Sending): void {
    if (this.#probe === sending) this.#probe = undefined;
  }

  /** Learns from the headers of an answer. */
  hear(sending: Sending, answer: Answer, nowMs: number): void {
    sending.heardAtMs = nowMs;
    this.#outstanding.hear(sending.atMs, nowMs);
    this.#settleProbe(sending);
    this.#hearClock(sending, answer, nowMs);
    this.#hearHealth(sending, answer, nowMs);
    this.#budget.hear(answer, this.#outstanding.unanswered, nowMs);
    if (answer.status === 429) this.#hearRefusal(sending, answer, nowMs);
    else if (answer.status === 503 && answer.retryAfterMs !== undefined) this.#close(answer, nowMs);
    else if (answer.status < 500) this.#hearProbe(sending);
  }

  #hearClock(sending: Sending, { dateMs, receivedAtMs }: Answer, nowMs: number): void {
    if (dateMs === undefined) return this.#serverClock.presume(receivedAtMs - nowMs);
    if (!this.#serverClock.observe(dateMs, sending.atMs, nowMs)) return;
    this.#budget.forget();
    this.#unknownSinceMs ??= nowMs;
  }

  /** A good status is only half of an answer: whether its body comes too is told later. */
  #hearHealth(sending: Sending, answer: Answer, nowMs: number): void {
    if (isServiceFailure(answer)) this.#outage.fail(sending.atMs, nowMs);
    else if (isPromising(answer)) this.#outage.hope(sending.atMs, nowMs);
    else this.#outage.succeed(nowMs);
  }

  #hearRefusal(sending: Sending, answer: Answer, nowMs: number): void {
    this.#budget.hearRefusal(sending.wasPlanned, nowMs);
    this.#closing.strike(sending.atMs);
    this.#close(answer, nowMs);
  }

  #close({ rateLimit, retryAfterMs }: Answer, nowMs: number): void {
    const resetAtMs = rateLimit?.remaining === 0 ? this.#budget.believedEndMs(rateLimit, nowMs) : undefined;
    this.#closing.close(retryAfterMs, resetAtMs, nowMs);
    this.#reopen();
  }

  /** Another process was told that the key is closed. */
  closeUntil(instantMs: number): void {
    this.#closing.closeUntil(instantMs);
    this.#reopen();
  }

  #reopen(): void {
    this.#unknownSinceMs = this.#closing.untilMs;
    this.#isReopening = true;
  }

  /** A good answer to a request sent since the budget was unknown makes it known. */
  #hearProbe(sending: Sending): void {
    this.#closing.forgive(sending.atMs);
    if (this.#unknownSinceMs === undefined || sending.atMs < this.#unknownSinceMs) return;
    this.#unknownSinceMs = undefined;
    this.#isReopening = false;
  }

  #turnWindows(nowMs: number): void {
    if (this.#budget.turn(nowMs)) this.#unknownSinceMs ??= nowMs;
  }
}
