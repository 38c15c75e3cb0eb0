import { defineConfig } from 'tsup';

/** What the sandbox and the command line bring with them, so that installing the SDK stays four packages. */
const bundled = ['hono', '@hono/node-server', 'zod-openapi', 'commander', 'csv-parse'];

const library = defineConfig({
  entry: {
    index: 'src/index.ts',
    sandbox: 'src/sandbox/index.ts',
    node: 'src/node/index.ts',
    redis: 'src/redis/index.ts',
    otel: 'src/otel/index.ts',
  },
  format: ['esm'],
  target: 'es2023',
  platform: 'neutral',
  splitting: true,
  // `AsyncDisposable` is in no `lib` before ESNext, and without it a project without @types/node could not read the types.
  dts: { banner: '/// <reference lib="esnext.disposable" />' },
  // The command line is built beside it, at the same time.
  clean: ['!**/cli.*'],
  noExternal: bundled,
  // tsup strips `node:` by default, and `node:sqlite` exists under no other name.
  removeNodeProtocol: false,
  external: [/^node:/],
});

const commandLine = defineConfig({
  entry: { cli: 'src/cli/main.ts' },
  format: ['esm'],
  target: 'es2023',
  platform: 'node',
  splitting: false,
  clean: false,
  noExternal: bundled,
  removeNodeProtocol: false,
  // Half the size; names and short lines are kept, so that stack traces read.
  esbuildOptions: (options) => Object.assign(options, { minifyWhitespace: true, minifySyntax: true, lineLimit: 120 }),
  banner: { js: '#!/usr/bin/env node' },
});

export default [library, commandLine];
