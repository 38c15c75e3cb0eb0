import { monotonicMs } from '../../clock/monotonic.ts';
import type { ApiKeySource } from '../../options/client-options.ts';
import type { QuotaStore } from '../../quota-store.ts';
import type { QuotaSettings } from '../ledger/settings.ts';
import { Gate } from './gate.ts';

/** What a gate knows no longer matters after it has been unused for this long. */
const UNUSED_AFTER_MS = 25 * 3_600_000;
const SWEEP_EVERY_MS = 60_000;

/** The address and key of a gate. */
export interface GateName {
  address: string;
  apiKey: string | ApiKeySource;
}

/** The settings of a client that uses a gate. */
interface GateUse {
  settings: QuotaSettings;
  warn: (message: string) => void;
  quotaStore?: QuotaStore | undefined;
}

interface Entry {
  /** Held weakly once it has been unused for long, for clients that still have it. */
  gate: Gate | WeakRef<Gate>;
  store: QuotaStore | undefined;
  usedAtMs: number;
}

/** The gates of one copy of the package. Each is kept until what it knows no longer matters, and as long as a client has it. */
class GateRegistry {
  // By address, then by key; the most recently used entry comes last.
  readonly #byAddress = new Map<string, Map<string, Entry>>();
  // Held weakly: no client can ask for the gates of a key function that no longer exists.
  readonly #byFunction = new WeakMap<ApiKeySource, Map<string, Entry>>();
  #sweptAtMs = Number.NEGATIVE_INFINITY;

  get({ address, apiKey }: GateName): { gate: Gate; store: QuotaStore | undefined } | undefined {
    const entry = typeof apiKey === 'string' ? this.#byAddress.get(address)?.get(apiKey) : this.#byFunction.get(apiKey)?.get(address);
    const gate = entry && gateIn(entry);
    return gate && { gate, store: entry.store };
  }

  put({ address, apiKey }: GateName, entry: Entry): void {
    if (typeof apiKey !== 'string') {
      const ofFunction = this.#byFunction.get(apiKey) ?? new Map<string, Entry>();
      this.#byFunction.set(apiKey, ofFunction.set(address, entry));
      return;
    }
    this.#sweep(entry.usedAtMs);
    const byKey = this.#byAddress.get(address) ?? new Map<string, Entry>();
    byKey.delete(apiKey);
    this.#byAddress.set(address, byKey.set(apiKey, entry));
  }

  /** Lets go of old gates, at most once a minute. */
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
    // All later entries were used even more recently.
    if (nowMs - entry.usedAtMs <= UNUSED_AFTER_MS) return;
    byKey.delete(apiKey);
    const gate = gateIn(entry);
    if (gate) byKey.set(apiKey, { gate: heldFor(gate), store: entry.store, usedAtMs: nowMs });
  }
}

function gateIn({ gate }: Entry): Gate | undefined {
  return gate instanceof Gate ? gate : gate.deref();
}

/**
 * A gate that has been unused for long is held weakly, unless its key is still closed. Old versions of workerd have no `WeakRef`, but no
 * isolate of theirs lives so long.
 */
function heldFor(gate: Gate): Entry['gate'] {
  const mayGo = gate.idleMs > UNUSED_AFTER_MS && gate.quotaOf().closedUntil === undefined;
  if (mayGo) gate.rest();
  return mayGo && globalThis.WeakRef ? new WeakRef(gate) : gate;
}

/** A gate outlives its clients, so that a closed key stays closed for the next client. */
const registry = new GateRegistry();

/**
 * Returns the gate of an address and key. If it exists already, the stricter plan and the first store count until all its
 * clients are closed, and `warn` is called about each difference.
 * @throws ConfigurationError if the store cannot be used
 */
export function gateOf(name: GateName, { settings, warn, quotaStore }: GateUse): Gate {
  const nowMs = monotonicMs();
  const known = registry.get(name);
  const gate = known?.gate ?? new Gate(settings);
  // The store of a client that was closed may be closed too.
  const store = known?.gate.isLeft ? quotaStore : (known?.store ?? quotaStore);
  if (store !== known?.store) gate.share(store && { ...name, store });
  if (store !== quotaStore && quotaStore) warn('another client uses this address and key with another quotaStore: the first one counts');
  known?.gate.join(settings, warn);
  registry.put(name, { gate, store, usedAtMs: nowMs });
  return gate;
}
