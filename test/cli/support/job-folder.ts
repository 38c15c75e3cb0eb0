import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { runCli } from '../../../src/cli/run-cli.ts';
import { type ServedSandbox, type ServeSandboxOptions, serveSandbox } from '../../../src/node/serve.ts';
import { FakeTerminal } from './fake-terminal.ts';

/** A folder with an input and what a job keeps, and a service that the variables name; both end with the test. */
export interface JobFolder {
  served: ServedSandbox;
  /** The path of a file in the folder. */
  file: (name: string) => string;
  /** Runs `petstore`; paths of the folder are shown without it. */
  run: (words: string[], terminal?: FakeTerminal) => Promise<{ code: number; out: string; err: string }>;
  /** Runs `petstore sync` of a text. */
  sync: (text: string, words?: string[], terminal?: FakeTerminal) => Promise<{ code: number; out: string; err: string }>;
}

export async function jobFolder(options: ServeSandboxOptions = {}): Promise<JobFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-job-'));
  const pets = [1, 2, 3, 4].map((petId) => ({ petId, quantity: 5, status: 'available' }));
  // A window begins with the first request, so that none ends during a test.
  const served = await serveSandbox({ pets, policy: 'fixed-first', ...options });
  vi.stubEnv('PETSTORE_BASE_URL', served.url);
  vi.stubEnv('PETSTORE_API_KEY', served.keys.business);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await served.close();
    await rm(folder, { recursive: true });
  });
  const file = (name: string): string => join(folder, name);
  const run: JobFolder['run'] = async (words, terminal = new FakeTerminal()) => {
    const code = await runCli(words, terminal);
    return { code, out: terminal.out.replaceAll(`${folder}/`, ''), err: terminal.err.replaceAll(`${folder}/`, '') };
  };
  const sync: JobFolder['sync'] = async (text, words = [], terminal = new FakeTerminal()) => {
    await writeFile(file('in.csv'), text);
    return run(['sync', file('in.csv'), ...words], terminal);
  };
  return { served, file, run, sync };
}
