import { monotonicMs } from '../../clock/monotonic.ts';
import type { QuotaStore } from '../../quota-store.ts';
import { borrowerMaker } from '../lease/borrower-maker.ts';
import type { QuotaSettings } from '../ledger/settings.ts';
import { Gate } from './gate.ts';
import { type GateName, KeptGates } from './kept-gates.ts';

/** One gate for each address and key in this copy of the package. It outlives its clients: a closed key stays closed for the next one. */
const gates = new KeptGates();

/**
 * Gives the gate of an address and key. Where it is there already, the stricter settings and the first store count, and `warn` is told what
 * differs.
 * @throws ConfigurationError of the store
 */
export function gateOf(
  name: GateName,
  { settings, warn, quotaStore }: { settings: QuotaSettings; warn: (message: string) => void; quotaStore?: QuotaStore | undefined },
): Gate {
  const nowMs = monotonicMs();
  const known = gates.get(name, nowMs);
  if (known) known.gate.tighten(settings, warn);
  const gate = known?.gate ?? new Gate(settings);
  const store = known?.store ?? quotaStore;
  if (store !== quotaStore && quotaStore) warn('another client uses this address and key with another quotaStore: the first one counts');
  if (store && known?.store === undefined) gate.share(borrowerMaker(name, { store, warn }));
  gates.put(name, { gate, store }, nowMs);
  return gate;
}
