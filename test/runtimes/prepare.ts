import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';

export const run = promisify(execFile);

export const HERE = import.meta.dirname;
const SUITE = join(HERE, 'node_modules', '.suite');

/** What the runtimes load: plain files for those that resolve packages themselves, bundles for the others. */
export const FILES = {
  process: join(SUITE, 'process-main.mjs'),
  page: join(SUITE, 'page-main.js'),
  worker: join(SUITE, 'worker-main.mjs'),
  example: join(SUITE, 'worker-example.mjs'),
} as const;

/** This machine lacks a runtime; the message says what would bring it. */
export class MissingRuntime extends Error {}

/** Two versions of Node cannot share a folder. */
const FOLDERS = ['.', 'node-22-oldest', 'node-22', 'node-26'] as const;

/** Installs the runtimes by their lockfiles where they are missing, and the package itself as a user has it: built, in node_modules. */
export async function install(): Promise<void> {
  const missing = FOLDERS.map((folder) => join(HERE, folder)).filter(
    (folder) => !existsSync(join(folder, 'node_modules/.package-lock.json')),
  );
  const installs = missing.map((cwd) => run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd }));
  // What could not be installed is missing, and told as such.
  for (const install of await Promise.allSettled(installs)) if (install.status === 'rejected') console.error(install.reason.message);
  const link = join(HERE, 'node_modules', 'petstore-inventory');
  await mkdir(join(HERE, 'node_modules'), { recursive: true });
  await rm(link, { force: true, recursive: true });
  await symlink(join(HERE, '..', '..'), link, 'junction');
}

export async function bundleSuite(): Promise<void> {
  const options = { bundle: true, format: 'esm', target: 'es2023', logLevel: 'warning' } as const;
  await build({ ...options, entryPoints: [join(HERE, 'process-main.ts')], outfile: FILES.process, packages: 'external' });
  // Minified as an application is: class names are gone.
  const bundled = { ...options, minify: true, platform: 'browser' } as const;
  await build({ ...bundled, entryPoints: [join(HERE, 'page-main.ts')], outfile: FILES.page });
  await build({ ...bundled, entryPoints: [join(HERE, 'worker-main.ts')], outfile: FILES.worker, conditions: ['workerd', 'worker'] });
  await build({
    ...bundled,
    entryPoints: [join(HERE, '..', '..', 'examples', 'worker.ts')],
    outfile: FILES.example,
    conditions: ['workerd', 'worker'],
  });
}
