import type { ApiKeySource } from '../options/client-options.ts';
import type { QuotaStore, SharedQuota } from '../quota-store.ts';
import { Borrower } from './borrower.ts';
import type { BorrowerOwner, BorrowerStart } from './borrower-start.ts';
import type { GateName } from './kept-gates.ts';
import { isWait } from './lease-answer.ts';

type StoreUse = Pick<BorrowerStart, 'settings' | 'warn'> & { store: QuotaStore };

/** Gives what makes the borrower of a gate. The store is joined once: at once where the key is known, else when it is first needed. */
export function borrowerMaker({ address, apiKey }: GateName, use: StoreUse): (owner: BorrowerOwner) => Borrower {
  return (owner) => {
    const hearClosed = (closedForMs: unknown) => {
      if (!isWait(closedForMs)) return;
      borrower.hearClosed(owner.now() + closedForMs);
      owner.changed();
    };
    const joinAs = (key: string) => use.store.join({ address, apiKey: key }, hearClosed);
    const borrower: Borrower = new Borrower({
      ...use,
      owner,
      join: typeof apiKey === 'string' ? joinNow(joinAs(apiKey)) : joinLater(joinAs, apiKey),
    });
    return borrower;
  };
}

function joinNow(shared: SharedQuota): () => SharedQuota {
  return () => shared;
}

function joinLater(joinAs: (key: string) => SharedQuota, apiKey: ApiKeySource): () => Promise<SharedQuota> {
  let joined: Promise<SharedQuota> | undefined;
  const join = async () => joinAs(await apiKey());
  return () => {
    joined ??= join().catch((failure: unknown) => {
      joined = undefined;
      throw failure;
    });
    return joined;
  };
}
