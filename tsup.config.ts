import { rmSync } from 'node:fs';
import type { BuildOptions, Plugin } from 'esbuild';
import { defineConfig, type Options } from 'tsup';

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
  Object.assign(options, { minifyWhitespace: true, minifySyntax: true, lineLimit: 120 });

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

const main: Options = { ...library, entry: { index: 'src/index.ts' }, noExternal: bundledForStart, esbuildPlugins: [zodBeside] };

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

const types: Options = {
  ...library,
  entry: { index: 'src/index.ts', ...doors },
  // `AsyncDisposable` is in no `lib` before ESNext, and without it a project without @types/node could not read the types.
  dts: { only: true, banner: '/// <reference lib="esnext.disposable" />' },
};

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

export default defineConfig(({ dts, outDir = 'dist' }) => {
  // CI builds once, and the scripts that build before they run something find it done.
  if (process.env.IS_BUILT === 'true' && outDir === 'dist') return [];
  // Here and not by `clean`, since all are built at the same time.
  rmSync(outDir, { recursive: true, force: true });
  return [main, others, commandLine, ...(dts === false ? [] : [types])];
});
