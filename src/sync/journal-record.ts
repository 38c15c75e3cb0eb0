import * as z from 'zod/mini';
import type { PetId } from '../contract/models.ts';
import { isPetId } from '../contract/pet-id.ts';
import { JOURNAL_VERSION } from './record-line.ts';

/** An id as JSON can hold it exactly: a number where a double is exact, else its digits. */
const RecordedId = z.union([
  z.custom<PetId>(isPetId),
  z.pipe(
    z.string().check(z.regex(/^-?\d{1,19}$/)),
    z.transform((digits) => BigInt(digits)),
  ),
]);

const RecordedError = z.object({
  name: z.string(),
  kind: z.string(),
  message: z.string(),
  code: z.optional(z.string()),
  status: z.optional(z.number()),
  reason: z.optional(z.string()),
});

/** An instant as `toISOString` writes it. */
const Instant = z.string().check(z.refine((text) => !Number.isNaN(Date.parse(text))));

/** What a journal tells. `job` comes first and once, `run` begins every run, `end` closes a job that has nothing left to do. */
const JournalRecord = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('job'),
    version: z.union([z.literal(1), z.literal(JOURNAL_VERSION)]),
    store: z.optional(z.string()),
    wanted: z.string(),
    pets: z.int(),
    /** An undo names the job that it sets back: by that job's `wanted`, and by when its first run began. */
    undoes: z.optional(z.string()),
  }),
  z.object({ type: z.literal('run'), at: z.string() }),
  /** An undo of this job begins; the job itself does not go on after it. */
  z.object({ type: z.literal('undo'), at: Instant }),
  /** The pet may stand at `to` from now on. */
  z.object({ type: z.literal('intent'), petId: RecordedId, from: z.number(), to: z.number() }),
  /** The service confirmed the intent. */
  z.object({ type: z.literal('done'), petId: RecordedId }),
  /** The intent did not take place, and nothing is in doubt. */
  z.object({ type: z.literal('void'), petId: RecordedId }),
  /** The pet's update is refused for good. */
  z.object({ type: z.literal('failed'), petId: RecordedId, quantity: z.number(), error: RecordedError }),
  /** The service's list lacks the pet; holds only for the run that wrote it. */
  z.object({ type: z.literal('missing'), petId: RecordedId }),
  z.object({ type: z.literal('end'), at: Instant, unchanged: z.int() }),
]);

export type JournalRecord = z.infer<typeof JournalRecord>;

/** How a journal begins, how every run does, and how an undo closes it. */
const BEGINNINGS = ['{"type":"job","version":', '{"type":"run",', '{"type":"undo",'];

/** Tells whether a line is the first of whoever writes to a journal next, or the part of one that fits. */
export function isBeginning(line: string): boolean {
  return BEGINNINGS.some((beginning) => line.startsWith(beginning.slice(0, line.length)));
}

/** The version of a journal that begins with this line, where it is newer than ours. */
export function newerVersion(line: string): number | undefined {
  const { data } = z.object({ type: z.literal('job'), version: z.number() }).safeParse(parseJson(line));
  return data !== undefined && data.version > JOURNAL_VERSION ? data.version : undefined;
}

/** `undefined` for a line that is no record: torn, or foreign. */
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
