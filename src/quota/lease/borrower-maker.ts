import type { QuotaStore } from '../../quota-store.ts';
import { Redactor } from '../../redactor.ts';
import type { GateName } from '../gate/kept-gates.ts';
import { Borrower } from './borrower.ts';
import type { BorrowerOwner, BorrowerStart } from './borrower-start.ts';
import { isWait } from './lease-answer.ts';

type StoreUse = Pick<BorrowerStart, 'warn'> & { store: QuotaStore };

/**
 * Gives what makes the borrower of a gate. The store is joined once: at once where the key is known, else when it is first needed.
 * @throws what the store does when it is joined at once
 */
export function borrowerMaker({ address, apiKey }: GateName, use: StoreUse): (owner: BorrowerOwner) => Borrower {
  return (owner) => {
    const redactor = new Redactor();
    const hearClosed = (closedForMs: unknown) => {
      if (!isWait(closedForMs)) return;
      borrower.hearClosed(owner.now() + closedForMs);
      owner.changed();
    };
    const joinAs = (key: string) => {
      redactor.learn(key);
      return use.store.join({ address, apiKey: key }, hearClosed);
    };
    const borrower = new Borrower({ ...use, owner, joinAs, clean: (text) => redactor.clean(text) });
    if (typeof apiKey === 'string') borrower.join(apiKey);
    return borrower;
  };
}
