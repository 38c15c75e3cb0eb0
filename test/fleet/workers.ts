import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { PlanLimits } from '../../src/index.ts';
import type { ServedSandbox } from '../../src/node/index.ts';

/** What a worker is told to do. */
export interface WorkerOrder {
  baseUrl: string;
  apiKey: string;
  petId: number;
  plan?: PlanLimits;
  maxWaitMs?: number;
  redisUrl?: string;
  library?: 'ioredis' | 'redis';
  subscribes?: boolean;
  processes?: number;
  file?: string;
  /** So many calls one after the other; else as many as go until it is stopped. */
  calls?: number;
  /** How many calls at once. */
  callers?: number;
}

/** What a worker tells when it is done. */
export interface WorkerReport {
  succeeded: number;
  /** Calls that failed by themselves, by the error's name. */
  failed: Record<string, number>;
  lastMessage?: string;
  /** Of the quota store. */
  events: string[];
  warnings: string[];
  latenciesMs: number[];
}

export interface Worker {
  child: ChildProcess;
  /** Resolves when the process has ended by itself; undefined where it was killed. */
  report: Promise<WorkerReport | undefined>;
}

const SCRIPT = fileURLToPath(new URL('worker.ts', import.meta.url));

export function startWorker(order: WorkerOrder): Worker {
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify(order)], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  let told = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    told += chunk.toString();
  });
  const report = new Promise<WorkerReport | undefined>((resolve) => {
    // Not at its exit, which may come before the end of what it told.
    child.once('close', (code) => resolve(code === 0 ? JSON.parse(told) : undefined));
  });
  return { child, report };
}

/** Resolves with the first turn of a window at which every process has sent a request, however long the machine takes to start them. */
export async function firstTurnOfAll({ sandbox }: ServedSandbox<string>, processes: number, windowMs: number): Promise<number> {
  while (new Set(sandbox.requests.map(({ petId }) => petId)).size < processes) await sleep(20);
  return Math.ceil(Date.now() / windowMs) * windowMs;
}

/** Ends workers that have no number of calls, and gives what those told that were not killed. */
export function stopAll(workers: readonly Worker[]): Promise<(WorkerReport | undefined)[]> {
  for (const { child } of workers) if (child.connected) child.send('stop');
  return Promise.all(workers.map(({ report }) => report));
}
