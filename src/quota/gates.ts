import type { ApiKeySource } from '../options/client-options.ts';
import { borrowerMaker } from './borrower-maker.ts';
import { Gate } from './gate.ts';
import type { QuotaSettings } from './settings.ts';
import type { QuotaStore } from './store.ts';

/** A gate that nobody used for so long knows nothing that still counts. */
const FORGOTTEN_AFTER_MS = 25 * 3_600_000;

interface Kept {
  gate: Gate;
  usedAtMs: number;
  store: QuotaStore | undefined;
}

/** One gate for each address and key in this copy of the package. It outlives its clients: a closed key stays closed for the next one. */
const gates = new Map<string, Map<string | ApiKeySource, Kept>>();

/**
 * Gives the gate of an address and key. Where it is there already, the stricter settings and the first store count, and `warn` is told what
 * differs.
 * @throws ConfigurationError of the store
 */
export function gateOf(
  address: string,
  apiKey: string | ApiKeySource,
  settings: QuotaSettings,
  warn: (message: string) => void,
  quotaStore?: QuotaStore,
): Gate {
  const nowMs = Date.now();
  const ofAddress = gates.get(address) ?? new Map<string | ApiKeySource, Kept>();
  forget(ofAddress, nowMs);
  const known = ofAddress.get(apiKey);
  if (known) known.gate.tighten(settings, warn);
  const gate = known?.gate ?? new Gate(settings);
  const store = known?.store ?? quotaStore;
  if (store !== quotaStore && quotaStore) warn('another client uses this address and key with another quotaStore: the first one counts');
  if (store && known?.store === undefined) gate.share(borrowerMaker({ address, apiKey }, { settings, store, warn }));
  gates.set(address, ofAddress.set(apiKey, { gate, usedAtMs: nowMs, store }));
  return gate;
}

function forget(ofAddress: Map<string | ApiKeySource, Kept>, nowMs: number): void {
  for (const [apiKey, { gate, usedAtMs }] of ofAddress) {
    if (Math.min(gate.idleMs, nowMs - usedAtMs) > FORGOTTEN_AFTER_MS) ofAddress.delete(apiKey);
  }
}
