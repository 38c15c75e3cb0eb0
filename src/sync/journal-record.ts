import * as z from 'zod/mini';
import type { PetId } from '../contract/models.ts';
import { isPetId } from '../contract/pet-id.ts';
import { JOURNAL_VERSION } from './journal.ts';

/** An id in JSON: a number if a double holds it exactly, else a string of its digits. */
const RecordedId = z.union([
  z.custom<PetId>(isPetId),
  z.pipe(
    z.pipe(
      z.string().check(z.regex(/^-?\d{1,19}$/)),
      z.transform((digits) => BigInt(digits)),
    ),
    z.custom<bigint>(isPetId),
  ),
]);

/** The quantity of a failed update may be rounded, beyond ±(2^53−1). */
const FailedQuantity = z.number().check(z.refine(Number.isInteger));

/** The part of a failure that a journal or a report keeps. */
const RecordedError = z.object({
  name: z.string(),
  kind: z.string(),
  message: z.string(),
  code: z.optional(z.string()),
  status: z.optional(z.number()),
  reason: z.optional(z.string()),
});

export type RecordedError = z.infer<typeof RecordedError>;

/** An instant as `toISOString` writes it. */
const Instant = z.string().check(z.refine((text) => !Number.isNaN(Date.parse(text))));

/** The records of a journal. `job` comes first and once, `run` begins each run, and `end` closes a finished job. */
const JournalRecord = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('job'),
    version: z.union([z.literal(1), z.literal(JOURNAL_VERSION)]),
    store: z.optional(z.string()),
    wanted: z.string(),
    pets: z.int(),
    /** For an undo, the job that it undoes: that job's `wanted`, and the instant at which its first run began. */
    undoes: z.optional(z.string()),
  }),
  z.object({ type: z.literal('run'), at: z.string() }),
  /** An undo of this job began. The job cannot continue after it. */
  z.object({ type: z.literal('undo'), at: Instant }),
  /** Written before an update is sent: from now on the pet's quantity may be `to`. */
  z.object({ type: z.literal('intent'), petId: RecordedId, from: z.int(), to: z.int() }),
  /** The service confirmed the intent. */
  z.object({ type: z.literal('done'), petId: RecordedId }),
  /** The intended update was certainly not applied. */
  z.object({ type: z.literal('void'), petId: RecordedId }),
  /** The pet's update failed, and the job does not try it again. */
  z.object({ type: z.literal('failed'), petId: RecordedId, quantity: FailedQuantity, error: RecordedError }),
  /** The service's list lacks the pet. Counts only if an `end` follows; another run looks for the pet again. */
  z.object({ type: z.literal('missing'), petId: RecordedId }),
  z.object({ type: z.literal('end'), at: Instant, unchanged: z.int() }),
]);

export type JournalRecord = z.infer<typeof JournalRecord>;

/** The beginnings of the lines with which a new writer starts: a job, a run, or an undo. */
const BEGINNINGS = ['{"type":"job","version":', '{"type":"run",', '{"type":"undo",'];

/** Whether a line is the first line of a new writer, or the torn beginning of such a line. */
export function isBeginning(line: string): boolean {
  return BEGINNINGS.some((beginning) => line.startsWith(beginning.slice(0, line.length)));
}

/** The version of the journal that begins with this line, if it is newer than `JOURNAL_VERSION`. */
export function newerVersion(line: string): number | undefined {
  const { data } = z.object({ type: z.literal('job'), version: z.number() }).safeParse(parseJson(line));
  return data !== undefined && data.version > JOURNAL_VERSION ? data.version : undefined;
}

/** Whether a line may be the beginning of a record, cut by a crash. The beginning of an object is never valid JSON. */
export function mayBeTorn(line: string): boolean {
  return parseJson(line) === undefined;
}

/** Parses a line; `undefined` if it is not a record, because it is torn or something else. */
export function parseRecord(line: string): JournalRecord | undefined {
  return JournalRecord.safeParse(parseJson(line)).data;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
