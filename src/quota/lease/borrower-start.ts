import type { QuotaStore, SharedQuota } from '../../quota-store.ts';
import type { Observed } from '../ledger/ledger.ts';

/** For whom a borrower borrows. */
export interface BorrowerOwner {
  /** What is known of the key's quota. */
  observed(): Observed;
  now(): number;
  /** How many wait for a slot. */
  waiting(): number;
  /** There may be other slots now. */
  changed(): void;
  /** Another process met a closed gate. */
  closed(untilMs: number): void;
}

/** What a borrower is made of. */
export interface BorrowerStart {
  store: Pick<QuotaStore, 'processes' | 'isNear'>;
  joinAs: (key: string) => SharedQuota;
  owner: BorrowerOwner;
  warn: (message: string) => void;
  /** Makes text of the store fit to be shown. */
  clean: (text: string) => string;
}
