import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { RunningProgram } from './running-program.ts';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const BIN = join(ROOT, 'node_modules', '.bin');
/** A program takes a second or two; on a busy machine, where it gets a twentieth of a processor, as much as twenty. */
const LONGEST_RUN_MS = 50_000;
const ENV = { PATH: `${BIN}:/usr/bin:/bin` };

/** A user's folder, with the package built and installed in it. */
export interface InstalledPackage extends AsyncDisposable {
  folder: string;
  /** Nothing of the developer's own variables: a key of theirs would turn examples into real requests. */
  env: Record<string, string>;
  /** Copies a file or a folder of this repository into the user's folder. */
  copy(path: string): Promise<void>;
  /** Writes a file into the folder, or into one below it. */
  write(path: string, text: string): Promise<void>;
  /** Runs a file of the folder in Node 24, to its end. */
  run(file: string, options?: RunOptions): Promise<Run>;
  /** Starts a program that stays. */
  start(file: string, options?: RunOptions): RunningProgram;
}

export interface RunOptions {
  env?: Record<string, string>;
  args?: readonly string[];
  /** Where it runs, below the folder. */
  cwd?: string;
}

export interface Run {
  code: number;
  stdout: string;
  stderr: string;
}

/** Builds the package as it is published, without its types, and installs it in a temporary folder, beside other packages. */
export async function installPackage(others: readonly string[] = []): Promise<InstalledPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-inventory-'));
  const installed = join(folder, 'node_modules', 'petstore-inventory');
  await mkdir(installed, { recursive: true });
  await promisify(execFile)(join(BIN, 'tsup'), ['--silent', '--no-dts', '--out-dir', join(installed, 'dist')], { cwd: ROOT });
  await copyFile(join(ROOT, 'package.json'), join(installed, 'package.json'));
  // Where npm would put its dependencies.
  await symlink(join(ROOT, 'node_modules'), join(installed, 'node_modules'), 'dir');
  for (const other of others) await linkPackage(folder, other);
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  // Hundreds of programs compile the same files.
  const env = { ...ENV, NODE_COMPILE_CACHE: join(folder, 'compiled') };
  return {
    folder,
    env,
    copy: (path) => cp(join(ROOT, path), join(folder, path), { recursive: true }),
    write: async (path, text) => {
      await mkdir(join(folder, dirname(path)), { recursive: true });
      await writeFile(join(folder, path), text);
    },
    run: (file, { env: more = {}, args = [], cwd = '.' } = {}) =>
      runNode([join(folder, file), ...args], { cwd: join(folder, cwd), env: { ...env, ...more } }),
    start: (file, { env: more = {}, args = [], cwd = '.' } = {}) =>
      new RunningProgram(join(BIN, 'node'), [join(folder, file), ...args], { cwd: join(folder, cwd), env: { ...env, ...more } }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

async function linkPackage(folder: string, name: string): Promise<void> {
  const link = join(folder, 'node_modules', name);
  await mkdir(dirname(link), { recursive: true });
  await symlink(join(ROOT, 'node_modules', name), link, 'dir');
}

function runNode(args: readonly string[], { cwd, env }: { cwd: string; env: Record<string, string> }): Promise<Run> {
  return new Promise((resolve, reject) => {
    execFile(join(BIN, 'node'), [...args], { cwd, env, timeout: LONGEST_RUN_MS }, (error, stdout, stderr) => {
      if (error?.killed) reject(new Error(`${args[0]} did not end within ${LONGEST_RUN_MS} ms, but told: ${stdout}${stderr}`));
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, stdout, stderr });
    });
  });
}
