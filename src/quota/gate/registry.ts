import { monotonicMs } from '../../clock/monotonic.ts';
import { LONGEST_WINDOW_MS } from '../../contract/limits.ts';
import type { ApiKeySource } from '../../options/client-options.ts';
import type { QuotaStore } from '../../quota-store.ts';
import type { QuotaSettings } from '../ledger/windows.ts';
import { Gate } from './gate.ts';

const SWEEP_EVERY_MS = 60_000;

/** The address and key of a gate. */
interface GateName {
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

type Entries = Map<string, Entry>;

// The gates of one copy of the package, by address, then by key; the most recently used entry comes last. A gate outlives its clients, so
// that a closed key stays closed for the next client.
const byAddress = new Map<string, Entries>();
// By function, then by address. Held weakly: no client can ask for the gates of a key function that no longer exists.
const byFunction = new WeakMap<ApiKeySource, Entries>();
let sweptAtMs = Number.NEGATIVE_INFINITY;

function entriesIn<Key>(table: { get(key: Key): Entries | undefined; set(key: Key, entries: Entries): unknown }, key: Key): Entries {
  const entries = table.get(key) ?? new Map();
  table.set(key, entries);
  return entries;
}

/** Lets go of old gates, at most once a minute: each is kept until what it knows no longer matters, and as long as a client has it. */
function sweep(nowMs: number): void {
  if (Math.abs(nowMs - sweptAtMs) < SWEEP_EVERY_MS) return;
  sweptAtMs = nowMs;
  for (const [address, entries] of byAddress) {
    for (const [apiKey, entry] of entries) {
      // All later entries were used even more recently.
      if (nowMs - entry.usedAtMs <= LONGEST_WINDOW_MS) break;
      entries.delete(apiKey);
      const gate = gateIn(entry);
      if (gate) entries.set(apiKey, { ...entry, gate: heldFor(gate), usedAtMs: nowMs });
    }
    if (entries.size === 0) byAddress.delete(address);
  }
}

function gateIn({ gate }: Entry): Gate | undefined {
  return gate instanceof Gate ? gate : gate.deref();
}

/**
 * A gate whose windows have all ended since it was used is held weakly, unless its key is still closed. Old versions of workerd have no
 * `WeakRef`, but no isolate of theirs lives so long.
 */
function heldFor(gate: Gate): Entry['gate'] {
  const mayGo = gate.idleMs > LONGEST_WINDOW_MS && gate.quotaOf().closedUntil === undefined;
  if (mayGo) gate.rest();
  return mayGo && globalThis.WeakRef ? new WeakRef(gate) : gate;
}

/**
 * Returns the gate of an address and key. If it exists already, the stricter plan and the first store count until all its
 * clients are closed, and `warn` is called about each difference.
 * @throws ConfigurationError if the store cannot be used
 */
export function gateOf({ address, apiKey }: GateName, { settings, warn, quotaStore }: GateUse): Gate {
  const nowMs = monotonicMs();
  if (typeof apiKey === 'string') sweep(nowMs);
  const [entries, name] = typeof apiKey === 'string' ? [entriesIn(byAddress, address), apiKey] : [entriesIn(byFunction, apiKey), address];
  const entry = entries.get(name);
  const known = entry && gateIn(entry);
  const gate = known ?? new Gate(settings);
  const knownStore = known && entry?.store;
  // The store of a client that was closed may be closed too.
  const store = known?.isLeft ? quotaStore : (knownStore ?? quotaStore);
  if (store !== knownStore) gate.share(store && { address, apiKey, store });
  if (store !== quotaStore && quotaStore) warn('another client uses this address and key with another quotaStore: the first one counts');
  known?.join(settings, warn);
  entries.delete(name);
  entries.set(name, { gate, store, usedAtMs: nowMs });
  return gate;
}
