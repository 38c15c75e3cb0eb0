// Starts the bench's processes: the service, and one for each case where memory counts.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const at = (file: string) => fileURLToPath(new URL(file, import.meta.url));

export interface Service {
  baseUrl: string;
  stop(): void;
}

export async function startService(): Promise<Service> {
  const child = fork(at('service.ts'));
  const { port } = await message<{ port: number }>(child);
  return { baseUrl: `http://127.0.0.1:${port}/v1`, stop: () => child.kill() };
}

/** Runs a file of this folder in a process of its own and gives what it sends. */
export async function inProcess<Result>(file: string, args: readonly string[], execArgv: readonly string[] = []): Promise<Result> {
  const child = fork(at(file), args, { execArgv: [...execArgv] });
  return message<Result>(child);
}

/** A process that answers whenever it is asked. */
export interface Asking {
  ask<Result>(): Promise<Result>;
  stop(): void;
}

export function startAsking(file: string, args: readonly string[]): Asking {
  const child = fork(at(file), args);
  const ask = async <Result>() => {
    if (child.exitCode !== null) throw new Error(`the process of ${args.join(' ')} ended with ${child.exitCode} before it was asked`);
    const answer = message<Result>(child);
    // A process that ends meanwhile is told by `message`.
    child.send('again', () => {});
    return answer;
  };
  return { ask, stop: () => child.kill() };
}

function message<Result>(child: ChildProcess): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`the process ended with ${code} and said nothing`));
    child.once('exit', onExit);
    child.once('message', (result) => {
      child.off('exit', onExit);
      resolve(result as Result);
    });
  });
}

/** The middle one: a single slow round on a shared machine does not count. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
