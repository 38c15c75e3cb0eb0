import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { build, type Plugin } from 'esbuild';
import type { Timers } from '../worlds/virtual-time.ts';
import type { FileSystem } from './disk.ts';
import { MUTANT } from './mutant.ts';

const ROOT = new URL('../../', import.meta.url).pathname;
const ENTRY =
  "export * from './src/index.ts'; export { fileJournal } from './src/node/file-journal.ts'; export { exchangeLease } from './src/node/quota-record.ts';";
/** What of the outside the code sees in place of the real one. */
const GLOBALS = ['globalThis', 'setTimeout', 'setInterval', 'clearTimeout', 'clearInterval', 'Date', 'performance', 'Math', 'process'];

/** The package as one process has it, with gates of its own. */
export type Program = typeof import('petstore-inventory') &
  Pick<typeof import('petstore-inventory/node'), 'fileJournal'> &
  Pick<typeof import('../../src/node/quota-record.ts'), 'exchangeLease'>;

/** What a process gets of the machine that it runs on. */
export interface Surroundings {
  readonly timers: Timers;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  readonly random: () => number;
  readonly files: FileSystem;
}

/** A fault that is put into the source by hand. */
export interface Break {
  /** Below `src`. */
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** Builds the source once; what it gives starts a process: the same code, with state of its own. */
export async function loadProgram(fault: Break | undefined = MUTANT): Promise<(surroundings: Surroundings) => Program> {
  const plugins = fault ? [breaking(fault)] : [];
  const stdin = { contents: ENTRY, resolveDir: ROOT, loader: 'ts' } as const;
  const built = await build({
    stdin,
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    target: 'node22',
    logLevel: 'error',
    plugins,
  });
  const run = new Function('module', 'require', ...GLOBALS, built.outputFiles[0]?.text ?? '');
  return (surroundings) => {
    const module = {};
    Reflect.apply(run, undefined, [module, requireWith(surroundings.files), ...globalsOf(surroundings)]);
    return Reflect.get(module, 'exports');
  };
}

function breaking({ path, before, after }: Break): Plugin {
  const broken = `${ROOT}src/${path}`;
  return {
    name: 'break',
    setup: ({ onLoad }) =>
      onLoad({ filter: /\.ts$/ }, async (file) => {
        if (file.path !== broken) return undefined;
        const source = await readFile(broken, 'utf8');
        if (source.split(before).length !== 2) throw new Error(`${path} has not one place that says ${before}`);
        return { contents: source.replace(before, () => after), loader: 'ts' };
      }),
  };
}

const requireReal = createRequire(import.meta.url);

function requireWith(files: FileSystem): (name: string) => unknown {
  return (name) => (name === 'node:fs/promises' ? files : requireReal(name));
}

/** In the order of their names. */
function globalsOf({ timers, wallMs, monotonicMs, random }: Surroundings): unknown[] {
  const performance = { now: monotonicMs };
  const own = { performance, navigator: undefined, ...timers };
  const { setTimeout, setInterval, clearTimeout, clearInterval } = timers;
  return [
    Object.create(globalThis, Object.getOwnPropertyDescriptors(own)),
    setTimeout,
    setInterval,
    clearTimeout,
    clearInterval,
    dateOf(wallMs),
    performance,
    Object.create(Math, { random: { value: random } }),
    { env: {}, platform: 'linux' },
  ];
}

function dateOf(wallMs: () => number): DateConstructor {
  return new Proxy(Date, {
    construct: (target, values, newTarget) => Reflect.construct(target, values.length === 0 ? [wallMs()] : values, newTarget),
    get: (target, name, receiver) => (name === 'now' ? wallMs : Reflect.get(target, name, receiver)),
  });
}
