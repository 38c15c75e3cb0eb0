import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import * as z from 'zod/mini';
import { monotonicMs } from '../clock/monotonic.ts';
import { wait } from '../clock/wait.ts';
import { withinTimeout } from '../clock/within-timeout.ts';
import { duration } from './duration.ts';
import { EXIT, Interruption } from './exit-code.ts';
import { HELD_MS, type LockExchange, readRecord, type SharedState } from './state.ts';
import { tell } from './tell.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';

const RENEW_MS = HELD_MS / 3;
/** If the store takes longer to answer, it counts as unreachable. */
const ANSWER_MS = 5_000;
/** A timer may fire a little early. */
const EARLY_MS = 1_000;
/** In this time, a living holder has renewed its lock. */
const LOOK_AGAIN_MS = RENEW_MS + ANSWER_MS;

/** The process that holds a lock. */
const LockHolder = z.object({ id: z.string(), host: z.string(), pid: z.number(), since: z.string() });
type LockHolder = z.infer<typeof LockHolder>;

type Hold = (heldMs: number, how?: Pick<Parameters<LockExchange>[0], 'takesVoid' | 'isLate'>) => ReturnType<LockExchange>;

/** A lock that a job holds while it runs. */
export interface JobLock {
  release(): Promise<void>;
}

interface Wanted {
  name: string;
  state: SharedState | undefined;
  /** Called if the lock is lost. It has to end the job, since another run may begin. */
  onLost: (interruption: Interruption) => void;
  signal: AbortSignal;
  terminal: Terminal;
}

/** @throws UsageError for a name or a state with which there can be no lock */
export function checkLock(name: string, state: SharedState | undefined): asserts state is SharedState {
  if (!/^[\w.:-]{1,100}$/.test(name))
    throw new UsageError(`Cannot use --lock ${name.slice(0, 100)}: it must be a name of 1 to 100 letters, digits, and any of . : _ -`);
  if (!state) throw new UsageError('Cannot use --lock: this run shares nothing with others; give --quota-store');
}

/** Takes a lock in the shared state, and renews it until it is released. @throws UsageError, or an Error that names the holder */
export async function takeLock({ name, state, onLost, signal, terminal }: Wanted): Promise<JobLock> {
  checkLock(name, state);
  const holder: LockHolder = { id: randomUUID(), host: hostname(), pid: process.pid, since: new Date(terminal.now()).toISOString() };
  const exchange = state.lock(name);
  const unanswered = `Cannot take the lock: ${state.name} did not answer within ${ANSWER_MS / 1_000} s`;
  let renewedAtMs = Number.NEGATIVE_INFINITY;
  const ageMs = () => monotonicMs() - renewedAtMs;
  const hold: Hold = async (heldMs, how = {}) => {
    // The lock expires that long after the request was sent, not after it was answered.
    const sentAtMs = monotonicMs();
    const other = await withinTimeout(exchange({ id: holder.id, text: JSON.stringify(holder), heldMs, ...how }), ANSWER_MS, unanswered);
    if (!other) renewedAtMs = sentAtMs;
    return other;
  };
  await acquire(hold, { lock: `the lock ${name} in ${state.name}`, signal, terminal });
  const renew = async (): Promise<void> => {
    // While a process is stopped, another run may hold the lock and release it.
    const taken = await hold(HELD_MS, { isLate: ageMs() >= HELD_MS }).catch(() => 'away' as const);
    const isLost = taken === 'away' ? ageMs() >= HELD_MS - RENEW_MS - EARLY_MS : taken !== undefined;
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

/** Takes a lock. If the clock alone says that it is free, a living holder gets the time to renew it. @throws an Error that names the holder */
async function acquire(hold: Hold, { lock, signal, terminal }: Pick<Wanted, 'signal' | 'terminal'> & { lock: string }): Promise<void> {
  let other = await hold(HELD_MS);
  if (other?.isVoid) {
    tell(terminal, `petstore: waiting ${duration(LOOK_AGAIN_MS)}, since ${lock} may still be held by ${describe(other)}`);
    await wait(LOOK_AGAIN_MS, signal);
    other = await hold(HELD_MS, { takesVoid: true });
  }
  if (!other) return;
  throw new Error(`Cannot start: ${lock} is held by ${describe(other)}; if that process has died, ${expiry(other)}`);
}

/** When a run can take the lock of a dead holder. Only a lock that can be void is looked at again after it has expired. */
function expiry({ leftMs, isVoid }: { leftMs: number; isVoid?: boolean | undefined }): string {
  if (isVoid === undefined) return `the lock is free in ${duration(leftMs)}`;
  return `the lock expires in ${duration(leftMs)}, and the next run waits ${duration(LOOK_AGAIN_MS)} before it takes it`;
}

function describe({ text }: { text: string }): string {
  const data = readRecord(LockHolder, text);
  return data ? `process ${data.pid} on ${data.host}, since ${data.since}` : 'another program';
}
