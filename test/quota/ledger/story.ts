import type { Answer } from '../../../src/contract/limits.ts';
import { Ledger } from '../../../src/quota/ledger/ledger.ts';
import type { QuotaSettings } from '../../../src/quota/ledger/windows.ts';

export const NOON_MS = Date.parse('2026-11-21T12:00:00Z');

/** A ledger that gets one answer after the other, a tenth of a second apart, with a window that ends at a minute past noon. */
export class Story {
  nowMs = NOON_MS;
  readonly ledger: Ledger;

  constructor(settings: Partial<QuotaSettings> = {}) {
    this.ledger = new Ledger({ plan: { requestsPerMinute: 60 }, concurrency: 64, share: 1, ...settings }, () => 0);
  }

  /** Sends a request that gets this answer. */
  answer(answer: Partial<Answer>): this {
    this.ledger.look(this.nowMs, 0);
    const sending = this.ledger.send(this.nowMs);
    this.nowMs += 100;
    this.ledger.observe(sending, { status: 200, receivedAtMs: this.nowMs, dateMs: this.nowMs, ...answer }, this.nowMs);
    return this;
  }

  get free(): number {
    return this.freeFor(1);
  }

  /** How many requests may be sent if so many calls wait. */
  freeFor(waiting: number): number {
    return this.ledger.look(this.nowMs, 0, waiting).free;
  }

  get limit(): number | undefined {
    return this.ledger.snapshot(this.nowMs).minute.limit;
  }

  get left(): number | undefined {
    return this.ledger.snapshot(this.nowMs).minute.remaining;
  }
}
