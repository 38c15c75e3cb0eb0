import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { freePort } from '../support/free-port.ts';

/** Whether a Redis server is on the PATH; in CI it has to be. */
export const HAS_REDIS = spawnSync('redis-server', ['--version']).status === 0;

/** A Redis of our own on a free port, without a file: killed, it comes back empty. */
export class RedisServer {
  readonly port: number;
  #child: ChildProcess | undefined;

  readonly #flags: readonly string[];

  private constructor(port: number, flags: readonly string[]) {
    this.port = port;
    this.#flags = flags;
  }

  /** Starts on another port if the server ends at once, since something else took the port, or the one for the bus of a cluster. */
  static async start(flags: readonly string[] = []): Promise<RedisServer> {
    for (let attempt = 1; ; attempt++) {
      const server = new RedisServer(await freePort(), flags);
      try {
        await server.restart();
        return server;
      } catch (error) {
        await server.kill();
        if (attempt === 3) throw error;
      }
    }
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async restart(): Promise<void> {
    const flags = [
      '--port',
      String(this.port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--loglevel',
      'warning',
      ...this.#flags,
    ];
    const child = spawn('redis-server', flags, { stdio: 'ignore' });
    this.#child = child;
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`redis-server at port ${this.port} ended with ${code}`);
    });
    await Promise.race([this.ask('PING'), ended]);
  }

  /** Runs one command over a connection of its own. */
  async ask(command: string, ...words: string[]): Promise<unknown> {
    // For a minute, as long as a busy machine may take.
    const client = new Redis(this.url, { retryStrategy: () => 20, maxRetriesPerRequest: 3_000 });
    client.on('error', () => {});
    try {
      return await client.call(command, ...words);
    } finally {
      client.disconnect();
    }
  }

  /** Scripts that were run since the start or the last reset of the statistics. */
  async scriptsRun(): Promise<number> {
    const told = String(await this.ask('INFO', 'commandstats'));
    const calls = Array.from(told.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm), ([, count]) => Number(count));
    return calls.reduce((total, count) => total + count, 0);
  }

  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void> {
    return new Promise((resolve) => {
      const child = this.#child;
      if (!child || child.exitCode !== null || child.signalCode !== null) return resolve();
      child.once('exit', () => resolve());
      child.kill('SIGKILL');
    });
  }
}
