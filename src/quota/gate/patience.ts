import type { Call, OutagePace } from '../../call.ts';
import type { Answer } from '../../contract/limits.ts';
import type { PetStoreError } from '../../errors.ts';
import type { Ledger, Outlook } from '../ledger/ledger.ts';
import type { Line } from './line.ts';
import { refusalInOutage, refusalToWait } from './refusal.ts';
import type { SteadyClock } from './steady-clock.ts';

interface PatienceStart<Slot> {
  ledger: Ledger;
  line: Line<Slot>;
  clock: SteadyClock;
}

/** How long calls are ready to wait at one gate, and what those are told that would have to wait longer. */
export class Patience<Slot> {
  readonly #ledger: Ledger;
  readonly #line: Line<Slot>;
  readonly #clock: SteadyClock;
  #lastFailure: PetStoreError | Answer | undefined;

  constructor({ ledger, line, clock }: PatienceStart<Slot>) {
    this.#ledger = ledger;
    this.#line = line;
    this.#clock = clock;
  }

  /** The service failed: whoever gives up behind the outage is told so. */
  noteFailure(failure: PetStoreError | Answer): void {
    this.#lastFailure = failure;
  }

  /** When the first waiter has waited too long behind an outage. */
  endsAtMs(): number {
    const since = this.#ledger.outageSinceMs;
    return since === undefined ? Number.POSITIVE_INFINITY : this.#line.patienceEndsAtMs(since);
  }

  /** Why a call that comes now cannot wait; undefined where it can. */
  refusal(call: Call, outlook: Outlook, nowMs: number): PetStoreError | undefined {
    const since = this.#ledger.outageSinceMs;
    if (since !== undefined && this.#endsFor(call, since, nowMs) <= nowMs) return this.#downTooLong(call, outlook);
    return this.#isTooLong(outlook, call.options.maxWaitMs, nowMs) ? this.#closedTooLong(call, outlook, nowMs) : undefined;
  }

  /** Tells those who wait longer than they allow. */
  refuseTheRest(outlook: Outlook, nowMs: number): void {
    if (this.endsAtMs() <= nowMs) return this.#refuseInOutage(outlook, nowMs);
    if (!this.#isTooLong(outlook, this.#line.leastWaitMs, nowMs)) return;
    const impatient = this.#line.takeWhere(({ call }) => this.#isTooLong(outlook, call.options.maxWaitMs, nowMs));
    for (const waiter of impatient) waiter.refuse(this.#closedTooLong(waiter.call, outlook, nowMs), nowMs);
  }

  /** When the next attempt of a call could be made at the earliest, and for how long it still waits; undefined while there is no outage. */
  paceOf(call: Call, { at }: Outlook, nowMs: number): OutagePace | undefined {
    const since = this.#ledger.outageSinceMs;
    if (since === undefined) return undefined;
    return { delayMs: Number.isFinite(at) ? Math.max(0, at - nowMs) : 0, patienceMs: this.#endsFor(call, since, nowMs) - nowMs };
  }

  #refuseInOutage(outlook: Outlook, nowMs: number): void {
    const since = this.#ledger.outageSinceMs ?? nowMs;
    for (const waiter of this.#line.takeWhere((each) => each.patienceEndsAtMs(since) <= nowMs)) {
      waiter.refuse(this.#downTooLong(waiter.call, outlook), nowMs);
    }
  }

  #endsFor(call: Call, outageSinceMs: number, nowMs: number): number {
    return Math.max(outageSinceMs, this.#clock.begin(call.startedAtMs, nowMs)) + call.options.maxWaitMs;
  }

  /** Only what no answer that is still out can change is told as too long. */
  #isTooLong({ free, at, reason }: Outlook, maxWaitMs: number, nowMs: number): boolean {
    if (free > 0 || !Number.isFinite(at) || at - nowMs <= maxWaitMs || reason === 'outage') return false;
    return reason === 'rate-limit' || !this.#ledger.isWaitingForAnswer;
  }

  #closedTooLong(call: Call, { at, reason }: Outlook, nowMs: number): PetStoreError {
    return refusalToWait(call, { reason, waitMs: Math.ceil(at - nowMs), until: this.#clock.toDate(at) });
  }

  #downTooLong(call: Call, { at }: Outlook): PetStoreError {
    return refusalInOutage(call, this.#lastFailure, Number.isFinite(at) ? this.#clock.toDate(at) : undefined);
  }
}
