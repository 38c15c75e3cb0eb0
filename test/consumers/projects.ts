import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { run } from './check.ts';

export const ROOT = join(import.meta.dirname, '..', '..');
/** Tools of users that the root lacks. */
export const TOOLS = join(import.meta.dirname, 'node_modules');

const Packed = z.array(
  z.object({ filename: z.string(), size: z.number(), unpackedSize: z.number(), files: z.array(z.object({ path: z.string() })) }),
);

/** The packed package, and fresh projects that have it installed. */
export interface Projects {
  tarball: string;
  packed: z.infer<typeof Packed>[number];
  /** Has the package and nothing else. */
  plain: string;
  /** Has the types of Node, too, and the oldest API of OpenTelemetry that the package supports. */
  node: string;
  remove(): Promise<void>;
}

/** Packs what was built and installs it twice. */
export async function makeProjects(): Promise<Projects> {
  const tools = existsSync(join(TOOLS, '.package-lock.json')) ? undefined : npm(import.meta.dirname, 'ci');
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'petstore-consumers-')));
  const { stdout } = await npm(ROOT, 'pack', '--json', '--ignore-scripts', '--pack-destination', folder);
  const [packed] = Packed.parse(JSON.parse(stdout));
  if (!packed) throw new Error('npm pack gave nothing');
  const tarball = join(folder, packed.filename);
  const [plain, node] = await Promise.all([
    install(join(folder, 'plain'), [tarball]),
    install(join(folder, 'node'), [tarball, '@types/node@24.19.2', '@opentelemetry/api@1.9.0']),
  ]);
  await tools;
  return { tarball, packed, plain, node, remove: () => rm(folder, { recursive: true }) };
}

async function install(project: string, packages: readonly string[]): Promise<string> {
  await mkdir(project);
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'a-project', private: true, type: 'module' }));
  await npm(project, 'install', ...packages);
  await cp(join(import.meta.dirname, 'samples'), project, { recursive: true });
  return project;
}

function npm(cwd: string, ...args: string[]): Promise<{ stdout: string }> {
  return run('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'], { cwd });
}
