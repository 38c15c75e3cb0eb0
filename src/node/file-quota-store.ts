import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import { parseJson } from '../json/parse-json.ts';
import { badOption } from '../options/rules.ts';
import type { QuotaStore, StoreKey } from '../quota-store.ts';
import { QuotaFile } from './quota-file.ts';
import { emptyRecord, exchangeLease, type QuotaRecord } from './quota-record.ts';

/**
 * A quota store in a file, which stays open until the store is closed or the process ends.
 *
 * @example
 * using store: FileQuotaStore = fileQuotaStore('quota.db');
 * await using client = new PetStoreClient({ apiKey, baseUrl, quotaStore: store });
 * const items = await client.listInventory(); // the client is closed first, then the file
 */
export interface FileQuotaStore extends QuotaStore {
  /** Closes the file. Close the clients that use it first. A second call does nothing. */
  close(): void;
  /** As `close`, for `using`. */
  [Symbol.dispose](): void;
}

/**
 * Keeps the quota of a key in a file (SQLite), for processes on one machine: scripts that cron starts, or the workers of one host. The
 * minute, the day and a closed gate outlive the process. Give it to each client as `quotaStore`.
 *
 * The file is created if it is missing. Only its owner can read it, and it contains neither key nor address, only a hash. It must not be on
 * a network drive.
 *
 * @param path its folder has to exist
 * @throws ConfigurationError that says what to do, if the file cannot be written or belongs to another program
 * @example
 * const client = new PetStoreClient({ apiKey, baseUrl, plan: 'business', quotaStore: fileQuotaStore('quota.db') });
 * const items = await client.listInventory();
 */
export function fileQuotaStore(path: string): FileQuotaStore {
  if (typeof path !== 'string' || path === '') throw badOption('path', 'the path of a file', { shown: path });
  return quotaStoreOn(new QuotaFile(path));
}

/** A store on an opened file. Closing the store closes the file. */
export function quotaStoreOn(file: QuotaFile): FileQuotaStore {
  return {
    processes: undefined,
    isCheap: true,
    join: (key) => {
      file.checkOpen();
      const name = recordName(key);
      return {
        exchange: (request) =>
          file.change(name, Date.now, (kept, nowMs) => {
            const record = readRecord(kept);
            const response = exchangeLease(record, request, nowMs);
            return { record: JSON.stringify(record), neededUntilMs: record.closedUntilMs, response };
          }),
      };
    },
    close: () => file.close(),
    [Symbol.dispose]: () => file.close(),
  };
}

/** The name of a key's record: a hash. */
export function recordName({ address, apiKey }: StoreKey): string {
  return createHash('sha256').update(`${address}\n${apiKey}`).digest('hex').slice(0, 32);
}

const counts = z.record(z.string(), z.number());
const window = { left: z.number(), resetAtMs: z.number(), endsAtMs: z.number() };
const carried = z.object({ requests: z.number(), atMs: z.number() });
// Fields with a default are missing in files of the first version.
const minute = { ...window, limit: z.number(), firstRemaining: z._default(z.number(), 0), carried: z.optional(carried) };
const StoredRecord = z.object({
  writtenAtMs: z._default(z.number(), 0),
  closedUntilMs: z.number(),
  probeBy: z.string(),
  probeUntilMs: z.number(),
  minute: z.optional(z.object(minute)),
  day: z.optional(z.object(window)),
  limitPerDay: z.optional(z.number()),
  turnedAtMs: z.number(),
  sinceTurn: z.number(),
  beforeTurn: z._default(z.number(), 0),
  minuteSlots: counts,
  daySlots: counts,
  members: z.record(
    z.string(),
    z.object({ granted: z.number(), requestedAtMs: z._default(z.number(), 0), isExpected: z.optional(z.literal(true)) }),
  ),
});

/** A record that is damaged counts as lost, so that it is replaced. */
function readRecord(kept: string | undefined): QuotaRecord {
  return StoredRecord.safeParse(parseJson(kept ?? '')).data ?? emptyRecord();
}
