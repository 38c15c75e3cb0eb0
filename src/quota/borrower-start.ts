import type { QuotaStore, SharedQuota } from '../quota-store.ts';
import type { QuotaSettings } from './settings.ts';

/** For whom a borrower borrows. */
export interface BorrowerOwner {
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
  settings: QuotaSettings;
  store: Pick<QuotaStore, 'processes' | 'isNear'>;
  /** A promise where the key has to be asked for. */
  join: () => SharedQuota | Promise<SharedQuota>;
  owner: BorrowerOwner;
  warn: (message: string) => void;
}
