import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import * as z from 'zod/mini';
import { duration } from './duration.ts';
import { EXIT } from './exit-code.ts';
import { Interruption } from './interrupt.ts';
import { HELD_MS, type SharedState } from './state.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';

const RENEW_MS = HELD_MS / 3;
/** If the store takes longer to answer, it counts as unreachable. */
const ANSWER_MS = 5_000;

/** The process that holds a lock. */
const LockHolder = z.object({ id: z.string(), host: z.string(), pid: z.number(), since: z.string() });
type LockHolder = z.infer<typeof LockHolder>;

/** A lock that a job holds while it runs. */
export interface JobLock {
  release(): Promise<void>;
}

interface Wanted {
  name: string;
  state: SharedState | undefined;
  /** Called if the lock is lost. It has to end the job, since another run may begin. */
  onLost: (interruption: Interruption) => void;
  terminal: Terminal;
}

/** Takes a lock in the shared state, and renews it until it is released. @throws UsageError, or an Error that names the holder */
export async function takeLock({ name, state, onLost, terminal }: Wanted): Promise<JobLock> {
  if (!/^[\w.:-]{1,100}$/.test(name))
    throw new UsageError(`Cannot use --lock ${name.slice(0, 100)}: it must be a name of 1 to 100 letters, digits, and any of . : _ -`);
  if (!state) throw new UsageError('Cannot use --lock: this run shares nothing with others; give --quota-store');
  const holder: LockHolder = { id: randomUUID(), host: hostname(), pid: process.pid, since: new Date(terminal.now()).toISOString() };
  const exchange = state.lock(name);
  const hold = (heldMs: number) => withinTime(exchange({ id: holder.id, text: JSON.stringify(holder), heldMs }), state);
  const other = await hold(HELD_MS);
  if (other) throw new Error(`Cannot start: ${describe(other, name, state)}`);
  let renewedAtMs = terminal.now();
  const renew = async (): Promise<void> => {
    const taken = await hold(HELD_MS).catch(() => 'away' as const);
    if (taken === undefined) renewedAtMs = terminal.now();
    const isLost = taken === 'away' ? terminal.now() - renewedAtMs >= HELD_MS - RENEW_MS : taken !== undefined;
    if (isLost) onLost(new Interruption(`the lock ${name} in ${state.name} was lost`, EXIT.failure));
  };
  const timer = setInterval(() => void renew(), RENEW_MS);
  const release = async (): Promise<void> => {
    clearInterval(timer);
    // If the release fails, the lock expires.
    await hold(0).catch(() => {});
  };
  return { release };
}

function withinTime<Answer>(answer: Promise<Answer>, { name }: SharedState): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`Cannot take the lock: ${name} did not answer within ${ANSWER_MS / 1_000} s`)),
      ANSWER_MS,
    );
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function describe({ text, leftMs }: { text: string; leftMs: number }, name: string, { name: place }: SharedState): string {
  const { data } = LockHolder.safeParse(JSON.parse(text));
  const who = data ? `process ${data.pid} on ${data.host}, since ${data.since}` : 'another program';
  return `the lock ${name} in ${place} is held by ${who}; if that process has died, the lock is free in ${duration(leftMs)}`;
}
