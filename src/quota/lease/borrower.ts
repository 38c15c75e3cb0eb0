import type { Call } from '../../call.ts';
import type { Answer } from '../../contract/limits.ts';
import type { LeaseAnswer, LeaseAsk } from '../../quota-store.ts';
import type { Outlook } from '../ledger/ledger.ts';
import { AskPacing } from './ask-pacing.ts';
import type { BorrowerStart } from './borrower-start.ts';
import { IDLE_MS, IdleWatch } from './idle-watch.ts';
import { Lease } from './lease.ts';
import { localShare } from './local-share.ts';
import { StoreAsker } from './store-asker.ts';
import { StoreNews } from './store-news.ts';

/** So long slots are kept for requests that are out, whose callers may come again. */
const IDLE_WITH_REQUESTS_MS = 1000;
/** More requests than these are not in flight at a window's end. */
const MOST_LATE = 256;

/** What became of a request. */
export interface HeardAnswer {
  answer: Answer;
  sentAtMs: number;
  /** Until when the gate is closed now, if it is. */
  closedUntilMs: number | undefined;
}

/**
 * Borrows slots of the quota that several processes share: one ask at a time, none while some are left. Where the store fails, this process
 * takes an even part of what is left for its own, until the window ends; only then it asks again, so that no slot is taken twice.
 */
export class Borrower {
  readonly #start: BorrowerStart;
  readonly #member = Math.random().toString(36).slice(2, 12);
  #lease = noLease();
  #isLocal = false;
  readonly #news: StoreNews;
  readonly #idle: IdleWatch;
  readonly #asker: StoreAsker;
  // When to ask again, and what the wait until then is for.
  #askAtMs = Number.NEGATIVE_INFINITY;
  #reason: Outlook['reason'] = 'quota';
  // Another process asks the service what is left.
  #isProbedByOther = false;
  readonly #pacing = new AskPacing();
  // The lease is there to find out what is left: its answer is reported at once.
  #isProbe = false;
  #isProbeAnswered = false;
  #unanswered = 0;
  // When the window ends of which slots were held last, and the patience with a probe since; what requests from before were told since then.
  #ends: readonly number[] = [];
  #late: LeaseAsk['late'] = [];
  #closedUntilMs = Number.NEGATIVE_INFINITY;
  #members: number | undefined;

  constructor(start: BorrowerStart) {
    this.#start = start;
    this.#news = new StoreNews(start.warn, start.clean);
    this.#asker = new StoreAsker(start.joinAs, {
      leased: (answer, askedAtMs) => this.#leased(answer, askedAtMs),
      failed: (failure) => this.#fail(failure, start.owner.now()),
      changed: () => start.owner.changed(),
    });
    this.#idle = new IdleWatch((sinceMs) => this.#isWorthKeeping(sinceMs));
  }

  /** Whether nothing can be borrowed before the key is known. */
  get needsKey(): boolean {
    return this.#asker.needsKey;
  }

  /** @throws what the store does */
  join(key: string): void {
    this.#asker.join(key);
  }

  takeKey(key: string): void {
    this.#asker.takeKey(key);
  }

  /** What the ledger allows, as far as this process holds slots for it; where it holds none it asks. */
  narrow(outlook: Outlook, wanted: number, nowMs: number): Outlook {
    if (outlook.free <= 0) return outlook;
    if (this.#lease.free(nowMs) === 0 && wanted > 0 && nowMs >= this.#askAtMs) this.#take(wanted, nowMs);
    const free = this.#lease.free(nowMs);
    if (free > 0) return { ...outlook, free: Math.min(outlook.free, free) };
    const lookAt = Math.max(nowMs + 1, this.#askAtMs);
    const isAnswerOut = this.#isProbedByOther || this.#asker.givesUpAtMs !== undefined;
    return { free: 0, at: isAnswerOut ? Number.POSITIVE_INFINITY : lookAt, lookAt, reason: this.#reason };
  }

  /** A request leaves. */
  use(call: Call, nowMs: number): void {
    this.#news.tell(call);
    this.#unanswered++;
    this.#idle.touch(nowMs);
    this.#lease.use();
  }

  /** It did not leave after all. */
  unused(): void {
    this.#unanswered--;
    this.#lease.giveBack();
    this.#idle.watch();
  }

  lost(nowMs: number): void {
    this.#unanswered--;
    this.#answered(nowMs);
  }

  hear({ answer, sentAtMs, closedUntilMs }: HeardAnswer, nowMs: number): void {
    this.#unanswered--;
    const { remaining, resetAtMs } = answer;
    const isLate = this.#ends.some((endMs) => sentAtMs < endMs && nowMs >= endMs);
    if (remaining !== undefined && resetAtMs !== undefined && isLate) this.#late.push({ remaining, resetAtMs });
    if (this.#isLocal && this.#lease.windowMs === 0) this.#takePart(nowMs);
    if (closedUntilMs === undefined || closedUntilMs <= this.#closedUntilMs) return this.#answered(nowMs);
    // The others shall hear of it at once.
    this.#closedUntilMs = closedUntilMs;
    this.#isProbe = false;
    this.#report(nowMs);
  }

  /** Another process met a closed gate. */
  hearClosed(untilMs: number): void {
    if (untilMs <= this.#closedUntilMs) return;
    this.#closedUntilMs = untilMs;
    this.#start.owner.closed(untilMs);
  }

  #answered(nowMs: number): void {
    const waiting = this.#start.owner.waiting();
    if (this.#isProbe) {
      this.#isProbe = false;
      this.#isProbeAnswered = true;
      if (waiting > 0 && this.#asker.givesUpAtMs === undefined && !this.#isLocal) this.#take(waiting, nowMs);
      else this.#report(nowMs);
    } else if (this.#start.store.isNear && waiting === 0 && this.#unanswered === 0) this.#report(nowMs);
  }

  /** Tells the store without asking for more; what is held is given back. */
  #report(nowMs: number): void {
    if (this.#isLocal) return;
    const ask = this.#ask(0, nowMs);
    this.#lease = noLease();
    this.#asker.report(ask);
  }

  #take(wanted: number, nowMs: number): void {
    const { givesUpAtMs } = this.#asker;
    if (givesUpAtMs !== undefined) {
      if (nowMs >= givesUpAtMs) this.#asker.giveUp();
      return;
    }
    this.#isLocal = false;
    this.#isProbedByOther = false;
    this.#reason = 'quota';
    this.#asker.take(this.#ask(this.#start.store.isNear ? wanted : this.#pacing.grown(wanted, nowMs), nowMs), nowMs);
    this.#askAtMs = this.#asker.givesUpAtMs ?? this.#askAtMs;
  }

  #ask(wanted: number, nowMs: number): LeaseAsk {
    const isProbeAnswered = this.#isProbeAnswered;
    this.#isProbeAnswered = false;
    return {
      member: this.#member,
      wanted,
      returned: this.#lease.end(nowMs),
      returnedOfMs: this.#lease.windowMs,
      unanswered: this.#unanswered,
      late: this.#late.slice(-MOST_LATE),
      ...this.#start.owner.observed(),
      isProbeAnswered,
      closedForMs: Math.max(0, Math.ceil(this.#closedUntilMs - nowMs)),
    };
  }

  #leased(answer: LeaseAnswer, askedAtMs: number): void {
    const { owner } = this.#start;
    if (answer.reason === 'lost') return this.#fail('it was restarted empty', owner.now());
    this.#members = Math.max(answer.members, 1);
    this.#news.recover();
    if (answer.granted > 0) return this.#hold(answer, askedAtMs);
    this.#isProbedByOther = answer.reason === 'probe';
    this.#askAtMs = this.#pacing.askAtMs(answer, owner.observed().minute, owner.now());
    if (answer.reason !== 'closed') return;
    this.#reason = 'rate-limit';
    this.hearClosed(askedAtMs + answer.waitMs);
  }

  #hold(answer: LeaseAnswer, askedAtMs: number): void {
    this.#lease = new Lease(answer, askedAtMs);
    this.#pacing.granted(answer.granted, askedAtMs);
    this.#ends = answer.windowMs === 0 ? [...this.#ends.slice(0, 1), this.#lease.endsAtMs] : [this.#lease.endsAtMs];
    this.#late = [];
    this.#idle.touch(askedAtMs);
    this.#askAtMs = Number.NEGATIVE_INFINITY;
    this.#isProbe = answer.reason === 'probe';
    this.#idle.watch();
  }

  #fail(failure: unknown, nowMs: number): void {
    this.#isLocal = true;
    this.#takePart(nowMs);
    this.#news.fail(failure);
  }

  /** Gives slots back that lie idle. */
  #isWorthKeeping(sinceMs: number): boolean {
    const nowMs = this.#start.owner.now();
    if (this.#isLocal || this.#lease.free(nowMs) === 0) return false;
    if (this.#start.owner.waiting() > 0 || nowMs - sinceMs < (this.#unanswered > 0 ? IDLE_WITH_REQUESTS_MS : IDLE_MS)) return true;
    this.#report(nowMs);
    return false;
  }

  #takePart(nowMs: number): void {
    const { plan, minute: heard } = this.#start.owner.observed();
    const minute = heard && heard.endsInMs > 0 ? heard : undefined;
    const processes = this.#start.store.processes ?? this.#members;
    this.#lease = localShare({ plan, minute, processes }, nowMs);
    this.#askAtMs = this.#lease.endsAtMs;
  }
}

function noLease(): Lease {
  return new Lease({ granted: 0, windowMs: 0, endsInMs: 0 }, 0);
}
