import * as z from 'zod/mini';
import { showValue } from '../../options/rules.ts';
import type { LeaseAnswer } from '../../quota-store.ts';

/** Waits beyond this are the same to every caller, and a Date could not hold the instant. */
const LONGEST_MS = 1e15;

const Count = z.int().check(z.gte(0));
const Milliseconds = z.number().check(z.gte(0), z.lte(LONGEST_MS));

const Answer = z
  .object({
    granted: Count,
    endsInMs: Milliseconds,
    windowMs: Milliseconds,
    waitMs: Milliseconds,
    reason: z.enum(['closed', 'quota', 'probe', 'lost']),
    members: Count,
  })
  .check(z.refine(({ granted, endsInMs }) => granted === 0 || endsInMs > 0, { path: ['endsInMs'] }));

/** The one door for what a store answers: whoever wrote it, a lease comes out. @throws TypeError that says what was answered */
export function parseLeaseAnswer(told: unknown): LeaseAnswer {
  const read = Answer.safeParse(told);
  if (read.success) return read.data;
  const field = read.error.issues[0]?.path[0];
  if (typeof told !== 'object' || told === null || field === undefined) throw new TypeError(`it answered ${showValue(told)}`);
  throw new TypeError(`it answered an object whose \`${String(field)}\` is ${showValue(Reflect.get(told, field))}`);
}

/** Whether a gate may be closed for so long because another process says so. */
export function isWait(ms: unknown): ms is number {
  return typeof ms === 'number' && ms > 0 && ms <= LONGEST_MS;
}
