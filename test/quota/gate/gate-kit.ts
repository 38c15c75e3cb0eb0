import { expect, vi } from 'vitest';
import type { Call } from '../../../src/call.ts';
import type { Answer } from '../../../src/contract/limits.ts';
import type { ClientLimits } from '../../../src/quota/gate/client-limits.ts';
import { Gate } from '../../../src/quota/gate/gate.ts';
import type { Permit } from '../../../src/quota/gate/permit.ts';
import type { QuotaSettings } from '../../../src/quota/ledger/windows.ts';
import { makeListCall } from '../../support/call.ts';

export const FREE = { requestsPerMinute: 60, requestsPerDay: 1_000 };

export function makeGate(settings: Partial<QuotaSettings> = {}): Gate {
  return new Gate({ plan: FREE, concurrency: 64, share: 1, ...settings });
}

/** The limits of a client of a gate: none but the given ones. */
export function makeLimits(gate: Gate, settings: Partial<Parameters<Gate['limitsOf']>[0]> = {}): ClientLimits {
  return gate.limitsOf({ concurrency: 64, share: 1, ...settings });
}

/** An answer that comes now, from a service whose minute ends in a minute. */
export function answerNow(answer: Partial<Answer> = {}): Answer {
  const nowMs = Date.now();
  return { status: 200, receivedAtMs: nowMs, dateMs: nowMs, limit: 60, remaining: 50, resetAtMs: nowMs + 60_000, ...answer };
}

/** Makes calls that ask a gate for permits: holds the permits, and logs the outcome of each call. */
export class Visitors {
  readonly log: string[] = [];
  readonly permits: Permit[] = [];
  readonly failures: unknown[] = [];
  readonly #gate: Gate;
  readonly #limits: ClientLimits;
  readonly #startMs = Date.now();

  constructor(gate: Gate, limits = makeLimits(gate)) {
    this.#gate = gate;
    this.#limits = limits;
  }

  /** Asks for a permit. When the call gets one, its name is logged with the seconds since the start. */
  ask(name: string, call: Call = makeListCall()): Call {
    const slot = this.#gate.enter(call, this.#limits);
    if (slot instanceof Promise) void this.#await(name, slot);
    else this.#admit(name, slot);
    return call;
  }

  askTimes(count: number, call: () => Call = makeListCall): void {
    for (let n = 1; n <= count; n++) this.ask(String(n), call());
  }

  /** Answers the request of the oldest permit that is still held, and releases the permit. */
  answer(answer: Answer = answerNow()): void {
    const permit = this.permits.shift();
    expect(permit).toBeDefined();
    permit?.observe(answer);
    permit?.release();
  }

  /** The headers of the oldest permit's answer are good, its body breaks after a millisecond. */
  async break(failure: Parameters<Permit['fail']>[0]): Promise<void> {
    const permit = this.permits.shift();
    expect(permit).toBeDefined();
    permit?.observe(answerNow());
    await pass(1);
    permit?.fail(failure);
    permit?.release();
  }

  lose(failure: Parameters<Permit['lose']>[0]): void {
    const permit = this.permits.shift();
    permit?.lose(failure);
    permit?.release();
  }

  #admit(name: string, permit: Permit): void {
    this.permits.push(permit);
    this.log.push(`${this.#seconds()} ${name}`);
  }

  async #await(name: string, slot: Promise<Permit>): Promise<void> {
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
