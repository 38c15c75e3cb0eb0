import { monotonicMs } from '../../clock/monotonic.ts';
import type { ApiKeySource } from '../../options/client-options.ts';
import type { QuotaStore } from '../../quota-store.ts';
import type { QuotaSettings } from '../ledger/settings.ts';
import { Gate } from './gate.ts';

/** A gate that was unused for this long holds nothing that still matters. */
const FORGOTTEN_AFTER_MS = 25 * 3_600_000;
const SWEEP_EVERY_MS = 60_000;

/** The address and key of a gate. */
export interface GateName {
  address: string;
  apiKey: string | ApiKeySource;
}

/** What a client brings to its gate. */
interface GateUse {
  settings: QuotaSettings;
  warn: (message: string) => void;
  quotaStore?: QuotaStore | undefined;
}

interface Entry {
  gate: Gate;
  store: QuotaStore | undefined;
  usedAtMs: number;
}

/** The gates of one copy of the package, until no client can come back for what they know. */
class GateRegistry {
  // By address, then by key; the entry that was used last is last.
  readonly #byAddress = new Map<string, Map<string, Entry>>();
  // Once a function is gone, no client can ask for its gates.
  readonly #byFunction = new WeakMap<ApiKeySource, Map<string, Entry>>();
  #sweptAtMs = Number.NEGATIVE_INFINITY;

  get({ address, apiKey }: GateName, nowMs: number): Entry | undefined {
    const entry = typeof apiKey === 'string' ? this.#byAddress.get(address)?.get(apiKey) : this.#byFunction.get(apiKey)?.get(address);
    return entry && !isForgotten(entry, nowMs) ? entry : undefined;
  }

  put({ address, apiKey }: GateName, entry: Entry): void {
    if (typeof apiKey === 'string') return this.#putLast({ address, apiKey }, entry);
    const ofFunction = this.#byFunction.get(apiKey) ?? new Map<string, Entry>();
    this.#byFunction.set(apiKey, ofFunction.set(address, entry));
  }

  #putLast({ address, apiKey }: { address: string; apiKey: string }, entry: Entry): void {
    this.#sweep(entry.usedAtMs);
    const byKey = this.#byAddress.get(address) ?? new Map<string, Entry>();
    byKey.delete(apiKey);
    this.#byAddress.set(address, byKey.set(apiKey, entry));
  }

  /** Drops old entries, at most once a minute; stops at the first young one. */
  #sweep(nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptAtMs) < SWEEP_EVERY_MS) return;
    this.#sweptAtMs = nowMs;
    for (const [address, byKey] of this.#byAddress) {
      sweep(byKey, nowMs);
      if (byKey.size === 0) this.#byAddress.delete(address);
    }
  }
}

function sweep(byKey: Map<string, Entry>, nowMs: number): void {
  for (const [apiKey, entry] of byKey) {
    if (nowMs - entry.usedAtMs <= FORGOTTEN_AFTER_MS) return;
    byKey.delete(apiKey);
    if (!isForgotten(entry, nowMs)) byKey.set(apiKey, { ...entry, usedAtMs: nowMs });
  }
}

function isForgotten({ gate, usedAtMs }: Entry, nowMs: number): boolean {
  return nowMs - usedAtMs > FORGOTTEN_AFTER_MS && gate.idleMs > FORGOTTEN_AFTER_MS;
}

/** One gate for each address and key in this copy of the package. It outlives its clients: a closed key stays closed for the next one. */
const registry = new GateRegistry();

/**
 * Gives the gate of an address and key. Where it is there already, the stricter plan and the first store count, and `warn` gets what
 * differs.
 * @throws ConfigurationError of the store
 */
export function gateOf(name: GateName, { settings, warn, quotaStore }: GateUse): Gate {
  const nowMs = monotonicMs();
  const known = registry.get(name, nowMs);
  if (known) known.gate.join(settings, warn);
  const gate = known?.gate ?? new Gate(settings);
  const store = known?.store ?? quotaStore;
  if (store !== quotaStore && quotaStore) warn('another client uses this address and key with another quotaStore: the first one counts');
  if (store && known?.store === undefined) gate.share({ ...name, store, warn });
  registry.put(name, { gate, store, usedAtMs: nowMs });
  return gate;
}
