import { defineConfig } from 'tsup';

export default defineConfig({
  entry: { index: 'src/index.ts', sandbox: 'src/sandbox/index.ts', node: 'src/node/index.ts' },
  format: ['esm'],
  target: 'es2023',
  platform: 'neutral',
  splitting: true,
  dts: true,
  clean: true,
  sourcemap: true,
  // The sandbox and the command line bring their libraries with them, so that installing the SDK stays four packages.
  noExternal: ['hono', '@hono/node-server', 'zod-openapi', 'commander', 'csv-parse', 'cli-progress'],
  // tsup strips `node:` by default, and `node:sqlite` exists under no other name.
  removeNodeProtocol: false,
  external: [/^node:/],
});
