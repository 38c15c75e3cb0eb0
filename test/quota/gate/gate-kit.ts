import { expect, vi } from 'vitest';
import type { Call } from '../../../src/call.ts';
import type { Answer } from '../../../src/contract/limits.ts';
import { Gate } from '../../../src/quota/gate/gate.ts';
import type { Ticket } from '../../../src/quota/gate/ticket.ts';
import type { QuotaSettings } from '../../../src/quota/ledger/settings.ts';
import { makeListCall } from '../../support/call.ts';

export const FREE = { requestsPerMinute: 60, requestsPerDay: 1_000 };

export function makeGate(settings: Partial<QuotaSettings> = {}): Gate {
  return new Gate({ plan: FREE, concurrency: 64, share: 1, ...settings });
}

/** An answer that comes now, from a service whose minute ends in a minute. */
export function answerNow(answer: Partial<Answer> = {}): Answer {
  const nowMs = Date.now();
  return { status: 200, receivedAtMs: nowMs, dateMs: nowMs, limit: 60, remaining: 50, resetAtMs: nowMs + 60_000, ...answer };
}

/** Who asks a gate for slots: notes what each call became, and holds the tickets. */
export class Visitors {
  readonly log: string[] = [];
  readonly tickets: Ticket[] = [];
  readonly failures: unknown[] = [];
  readonly #gate: Gate;
  readonly #startMs = Date.now();

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** Asks for a slot; its name is noted with the seconds since the start when it gets one. */
  ask(name: string, call: Call = makeListCall()): Call {
    const slot = this.#gate.enter(call);
    if (slot instanceof Promise) void this.#await(name, slot);
    else this.#admit(name, slot);
    return call;
  }

  askTimes(count: number, call: () => Call = makeListCall): void {
    for (let n = 1; n <= count; n++) this.ask(String(n), call());
  }

  /** Answers the oldest ticket that is still held, and lets it go. */
  answer(answer: Answer = answerNow()): void {
    const ticket = this.tickets.shift();
    expect(ticket).toBeDefined();
    ticket?.heard(answer);
    ticket?.left();
  }

  /** The headers of the oldest ticket's answer are good, its body breaks after a millisecond. */
  async break(failure: Parameters<Ticket['broken']>[0]): Promise<void> {
    const ticket = this.tickets.shift();
    expect(ticket).toBeDefined();
    ticket?.heard(answerNow());
    await pass(1);
    ticket?.broken(failure);
    ticket?.left();
  }

  lose(failure: Parameters<Ticket['lost']>[0]): void {
    const ticket = this.tickets.shift();
    ticket?.lost(failure);
    ticket?.left();
  }

  #admit(name: string, ticket: Ticket): void {
    this.tickets.push(ticket);
    this.log.push(`${this.#seconds()} ${name}`);
  }

  async #await(name: string, slot: Promise<Ticket>): Promise<void> {
    try {
      this.#admit(name, await slot);
    } catch (failure) {
      this.failures.push(failure);
      this.log.push(`${this.#seconds()} ${name} refused`);
    }
  }

  #seconds(): number {
    return Math.round((Date.now() - this.#startMs) / 100) / 10;
  }
}

/** Lets `ms` milliseconds pass. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}
