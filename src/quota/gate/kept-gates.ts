import type { ApiKeySource } from '../../options/client-options.ts';
import type { QuotaStore } from '../../quota-store.ts';
import type { Gate } from './gate.ts';

/** A gate that nobody used for so long knows nothing that still counts. */
const FORGOTTEN_AFTER_MS = 25 * 3_600_000;
const SWEEP_EVERY_MS = 60_000;

/** Whose quota a gate keeps. */
export interface GateName {
  address: string;
  apiKey: string | ApiKeySource;
}

export interface KeptGate {
  gate: Gate;
  store: QuotaStore | undefined;
}

interface Kept extends KeptGate {
  usedAtMs: number;
}

/** The gates of one copy of the package, until nobody can come back for what they know. */
export class KeptGates {
  // By address and key, neither of which has a space; who was used last is last.
  readonly #byKey = new Map<string, Kept>();
  // Once a function is gone, no client can ask for its gates.
  readonly #byFunction = new WeakMap<ApiKeySource, Map<string, Kept>>();
  #sweptAtMs = Number.NEGATIVE_INFINITY;

  get({ address, apiKey }: GateName, nowMs: number): KeptGate | undefined {
    const kept = typeof apiKey === 'string' ? this.#byKey.get(`${address} ${apiKey}`) : this.#byFunction.get(apiKey)?.get(address);
    return kept && !isForgotten(kept, nowMs) ? kept : undefined;
  }

  put({ address, apiKey }: GateName, { gate, store }: KeptGate, nowMs: number): void {
    const kept = { gate, store, usedAtMs: nowMs };
    if (typeof apiKey === 'string') return this.#putLast(`${address} ${apiKey}`, kept);
    const ofFunction = this.#byFunction.get(apiKey) ?? new Map<string, Kept>();
    this.#byFunction.set(apiKey, ofFunction.set(address, kept));
  }

  #putLast(name: string, kept: Kept): void {
    this.#sweep(kept.usedAtMs);
    this.#byKey.delete(name);
    this.#byKey.set(name, kept);
  }

  /** Drops what is old, at most once a minute, and looks at nothing that is young. */
  #sweep(nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptAtMs) < SWEEP_EVERY_MS) return;
    this.#sweptAtMs = nowMs;
    for (const [name, kept] of this.#byKey) {
      if (nowMs - kept.usedAtMs <= FORGOTTEN_AFTER_MS) return;
      this.#byKey.delete(name);
      if (!isForgotten(kept, nowMs)) this.#byKey.set(name, { ...kept, usedAtMs: nowMs });
    }
  }
}

function isForgotten({ gate, usedAtMs }: Kept, nowMs: number): boolean {
  return nowMs - usedAtMs > FORGOTTEN_AFTER_MS && gate.idleMs > FORGOTTEN_AFTER_MS;
}
