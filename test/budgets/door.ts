import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import * as z from 'zod/mini';

const ROOT = new URL('../../', import.meta.url).pathname;
const Manifest = z.object({ exports: z.record(z.string(), z.unknown()), dependencies: z.record(z.string(), z.string()) });
const Lockfile = z.object({ packages: z.record(z.string(), z.object({ dependencies: z.optional(z.record(z.string(), z.string())) })) });

/** The cost of an entry point in a bundle, dependencies included. */
export interface Door {
  /** Minified and compressed, in bytes: all that can be loaded. */
  gzipBytes: number;
  /** The same of what is loaded at once; the rest is loaded when it is needed. */
  firstGzipBytes: number;
  /** The minified code. */
  code: string;
  /** The files that it is made of, below the repository. */
  files: string[];
}

/** What can be imported from the package: `.`, `./sandbox` and so on. */
export async function readDoors(): Promise<string[]> {
  const { exports } = Manifest.parse(await readJson('package.json'));
  return Object.keys(exports).filter((door) => !door.endsWith('.json'));
}

interface Bundling {
  /** What an application takes from the door. */
  taken?: string;
  /** Whether its dependencies are in the bundle. */
  packages?: 'bundle' | 'external';
  /** What is bundled: the source, or the package as it is built, and so installed. */
  from?: 'src' | 'dist';
}

/** Bundles what an application takes from a door: for a browser, or for Node where `node:` is needed. */
export async function bundleDoor(
  door: string,
  platform: 'browser' | 'node',
  { taken = '*', packages = 'bundle', from = 'src' }: Bundling = {},
): Promise<Door> {
  const name = door === '.' ? 'index' : door.slice(2);
  const source = from === 'dist' ? `./dist/${name}.js` : `./src/${name === 'index' ? '' : `${name}/`}index.ts`;
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export ${taken} from '${source}';`, resolveDir: ROOT, sourcefile: 'application.js' },
    absWorkingDir: ROOT,
    outdir: 'dist',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform,
    target: 'es2023',
    packages,
    external: ['ioredis', 'redis', '@opentelemetry/api', 'undici'],
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  // In the order in which they are imported: in that of their names, which are hashes, the same code may take half a KiB more or less.
  const codeOf = (chunks: ReadonlySet<string>) =>
    [...chunks].map((chunk) => outputFiles.find(({ path }) => basename(path) === chunk)?.text).join('\n');
  const code = codeOf(chunksOf(metafile, ['import-statement', 'dynamic-import']));
  const firstGzipBytes = gzipped(codeOf(chunksOf(metafile, ['import-statement'])));
  return { code, gzipBytes: gzipped(code), firstGzipBytes, files: Object.keys(metafile.inputs) };
}

function gzipped(code: string): number {
  return gzipSync(code, { level: 9 }).length;
}

/** The names of the entry's file, and of those that it and they import in these ways. esbuild also makes files that nothing imports. */
function chunksOf({ outputs }: Metafile, kinds: readonly string[]): Set<string> {
  const chunks = new Set<string>();
  const left = Object.keys(outputs).filter((path) => /stdin\.js$/.test(path));
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    chunks.add(basename(path));
    const imported = outputs[path]?.imports.filter(({ kind }) => kinds.includes(kind)) ?? [];
    left.push(...imported.map((each) => each.path).filter((each) => !chunks.has(basename(each))));
  }
  return chunks;
}

/** The packages that come along when this one is installed, by the lockfile. */
export async function readInstalled(): Promise<string[]> {
  const { packages } = Lockfile.parse(await readJson('package-lock.json'));
  const found = new Set<string>();
  const left = Object.keys(Manifest.parse(await readJson('package.json')).dependencies);
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    left.push(...Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {}));
  }
  return [...found].sort();
}

async function readJson(path: string): Promise<unknown> {
  return JSON.parse(await readFile(`${ROOT}${path}`, 'utf8'));
}
