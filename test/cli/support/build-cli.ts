import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

/** Bundles the command line as it is now into one file of its own folder, and gives the folder and the file. */
export async function buildCli(): Promise<{ folder: string; file: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-cli-'));
  const file = join(folder, 'cli.mjs');
  await build({
    entryPoints: [new URL('../../../src/cli/main.ts', import.meta.url).pathname],
    outfile: file,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    external: ['ioredis', 'redis'],
  });
  return { folder, file };
}
