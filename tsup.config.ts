import { rmSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { build as buildWithTsup, defineConfig, type Options } from 'tsup';

/** What the sandbox and the command line bring with them, so that installing the SDK stays four packages. */
const bundled = ['hono', '@hono/node-server', 'zod-openapi', 'commander', 'csv-parse'];

/**
 * What each client needs at once. zod has many files, and reading and resolving those takes longer than a first call; is-network-error is
 * one function. What is bundled is the exact version of the lockfile.
 */
const bundledForStart = ['is-network-error', /^zod\//];

/** What is not needed at the start asks for the package, so that the part of zod that is bundled stays small. */
const zodBeside: Plugin = {
  name: 'zod-beside',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^zod(?:\/|$)/ }, ({ path, importer }) =>
      /zod-openapi|@modelcontextprotocol|zod-to-json-schema|src\/(?:sandbox|sync|node\/serve|cli\/mcp)/.test(importer)
        ? { path, external: true }
        : undefined,
    );
  },
};

/** Fewer bytes to read at the start; names and short lines are kept, so that stack traces read. */
const minified = (options: BuildOptions): BuildOptions =>
  Object.assign(options, {
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 120,
    // No minifier shortens these properties of `Number`. A definition is JSON, in which 1e999 stands for infinity.
    define: { ...options.define, 'Number.POSITIVE_INFINITY': '1e999', 'Number.NEGATIVE_INFINITY': '-1e999' },
  });

const library: Options = {
  format: ['esm'],
  target: 'es2023',
  platform: 'neutral',
  splitting: true,
  clean: false,
  esbuildOptions: minified,
  // tsup strips `node:` by default, and `node:sqlite` exists under no other name.
  removeNodeProtocol: false,
  external: [/^node:/],
};

/** The schemas have a file of their own, so that a bundler can leave them out, and zod with them, where no schema is used. */
const schemasBeside: Plugin = {
  name: 'schemas-beside',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/contract\/models\.ts$/ }, ({ importer }) =>
      importer.endsWith('/src/index.ts') ? { path: './parts/schemas.js', external: true } : undefined,
    );
  },
};

/** The options of the main entry point. What it loads at once is joined when all is written. */
function main(outDir: string): Options {
  let metafile: Metafile | undefined;
  const keepMetafile: Plugin = {
    name: 'keep-metafile',
    setup: ({ onEnd }) => {
      onEnd((result) => {
        metafile = result.metafile;
      });
    },
  };
  return {
    ...library,
    entry: { index: 'src/index.ts', 'parts/schemas': 'src/contract/models.ts' },
    noExternal: bundledForStart,
    esbuildPlugins: [zodBeside, schemasBeside, keepMetafile],
    // In a folder of their own, since chunks of other entry points may have the same names. With white space esbuild also keeps the comments
    // that mark calls as pure, so that a bundler leaves out the parts of zod that a page does not need.
    esbuildOptions: (options) => Object.assign(minified(options), { chunkNames: 'parts/[name]-[hash]', minifyWhitespace: false }),
    onSuccess: async () => metafile && joinStart(outDir, metafile.outputs),
  };
}

/**
 * Joins the files that the main entry point loads at once into `parts/start.js`: esbuild makes one for each set of parts that share
 * something, and each costs time to find and read. The schemas, and what is loaded later, then import from that file.
 */
async function joinStart(outDir: string, outputs: Metafile['outputs']): Promise<void> {
  const outputOf = (file: string) => Object.entries(outputs).find(([path]) => path.endsWith(`/${file}`))?.[1];
  const joined = new Set(['index.js']);
  for (const file of joined)
    for (const { path, kind, external } of outputOf(file)?.imports ?? [])
      if (kind === 'import-statement' && !external) joined.add(`parts/${basename(path)}`);
  joined.delete('index.js');

  const ofSchemas = outputOf('parts/schemas.js')?.exports ?? [];
  const names = outputOf('index.js')?.exports.filter((name) => !ofSchemas.includes(name)) ?? [];
  const contents = [`export { ${names} } from './index.js';`, ...[...joined].map((chunk) => `export * from './${chunk}';`)].join('\n');
  const later: Plugin = {
    name: 'later',
    setup: ({ onResolve }) => {
      onResolve({ filter: /./ }, ({ path, kind }) =>
        kind === 'dynamic-import' || path.endsWith('/schemas.js')
          ? { path: path.replace('./parts/', './'), external: true, sideEffects: false }
          : undefined,
      );
    },
  };
  const outfile = join(outDir, 'parts/start.js');
  const stdin = { contents, resolveDir: outDir };
  await build(minified({ stdin, outfile, bundle: true, format: 'esm', platform: 'neutral', target: 'es2023', plugins: [later] }));

  await writeFile(join(outDir, 'index.js'), `export{${names}}from"./parts/start.js";export{${ofSchemas}}from"./parts/schemas.js";\n`);
  for (const chunk of joined) await rm(join(outDir, chunk));
  for (const path of Object.keys(outputs).filter((path) => /\/parts\//.test(path) && !joined.has(`parts/${basename(path)}`))) {
    const part = join(outDir, 'parts', basename(path));
    const code = await readFile(part, 'utf8');
    await writeFile(
      part,
      code.replace(/"\.\/([\w.-]+)"/g, (name, file) => (joined.has(`parts/${file}`) ? '"./start.js"' : name)),
    );
  }
}

/** Classes that programs compare with are those of the main door: whoever opens another one has a client. */
const classesOfMain: Plugin = {
  name: 'classes-of-main',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/(?:errors|sync\/journal)\.ts$/ }, ({ importer }) =>
      /\/src\/sandbox\//.test(importer) ? undefined : { path: './index.js', external: true },
    );
  },
};

const doors = {
  sandbox: 'src/sandbox/index.ts',
  node: 'src/node/index.ts',
  redis: 'src/redis/index.ts',
  otel: 'src/otel/index.ts',
  undici: 'src/undici/index.ts',
};

const others: Options = { ...library, entry: doors, noExternal: bundled, esbuildPlugins: [classesOfMain] };

const typed = { index: 'src/index.ts', ...doors };

const types: Options = {
  ...library,
  entry: typed,
  // `AsyncDisposable` is in no `lib` before ESNext, and without it a project without @types/node could not read the types.
  dts: { only: true, banner: '/// <reference lib="esnext.disposable" />' },
};

/** Builds the types. Their bundler takes every class for a value, so the names that an entry point exports only as types are marked here. */
async function buildTypes(options: Options): Promise<void> {
  await buildWithTsup({ ...types, ...options, config: false });
  for (const [door, source] of Object.entries(typed)) {
    const values = Object.keys(await import(pathToFileURL(source).href));
    const path = join(options.outDir ?? 'dist', `${door}.d.ts`);
    const lines = (await readFile(path, 'utf8')).split('\n');
    const mark = (exported: string, name: string) => (values.includes(name) ? exported : `type ${exported}`);
    const marked = lines.map((line) => (line.startsWith('export {') ? line.replace(/(?:\w+ as )?(\w+)(?=,| \})/g, mark) : line));
    await writeFile(path, marked.join('\n'));
  }
}

const commandLine: Options = {
  entry: { cli: 'src/cli/main.ts' },
  format: ['esm'],
  target: 'es2023',
  platform: 'node',
  // A command loads what it needs.
  splitting: true,
  clean: false,
  // The libraries of a `--quota-store` are those of its user, and not every program has them.
  noExternal: [/^(?!(?:io)?redis$)/],
  esbuildPlugins: [zodBeside],
  removeNodeProtocol: false,
  esbuildOptions: (options) => Object.assign(minified(options), { chunkNames: 'cli/[name]-[hash]' }),
  banner: { js: '#!/usr/bin/env node' },
};

export default defineConfig(async ({ dts, silent, outDir = 'dist' }) => {
  // CI builds once, and the scripts that build before they run something find it done.
  if (process.env.IS_BUILT === 'true' && outDir === 'dist') return [];
  // Here and not by `clean`, since all are built at the same time.
  rmSync(outDir, { recursive: true, force: true });
  if (dts !== false) await buildTypes({ silent: silent === true, outDir });
  return [main(outDir), others, commandLine];
});
