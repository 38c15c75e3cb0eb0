import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { build as buildWithVite } from 'vite';
import { type Check, expectLines, PROGRAM_LINE } from './check.ts';
import type { Projects } from './projects.ts';

const SERVED_LINE = 'served 200';

/** Bundles that applications are made of; each must build without a warning and then run. */
export function bundleChecks({ plain }: Projects): Check[] {
  const bundled = (title: string, file: string, options: BuildOptions, lines: readonly string[]) => ({
    title,
    run: () => runBundle(plain, { file, options, lines }),
  });
  const server: BuildOptions = { platform: 'node', entryPoints: ['server.js'] };
  return [
    bundled('esbuild bundles it for browsers', 'browser.mjs', { platform: 'browser', format: 'esm' }, [PROGRAM_LINE]),
    bundled('esbuild bundles it as a script for browsers', 'browser.cjs', { platform: 'browser', format: 'iife' }, [PROGRAM_LINE]),
    bundled('esbuild bundles it into a server', 'server.mjs', { ...server, format: 'esm' }, [PROGRAM_LINE, SERVED_LINE]),
    bundled('esbuild bundles it into a CommonJS server', 'server.cjs', { ...server, format: 'cjs' }, [PROGRAM_LINE, SERVED_LINE]),
    { title: 'Vite bundles it for browsers', run: () => runVite(plain) },
  ];
}

interface Bundle {
  file: string;
  options: BuildOptions;
  lines: readonly string[];
}

async function runBundle(project: string, { file, options, lines }: Bundle): Promise<undefined> {
  const outfile = join(project, 'out', file);
  const { warnings } = await build({
    absWorkingDir: project,
    entryPoints: ['program.js'],
    bundle: true,
    minify: true,
    logLevel: 'silent',
    ...options,
    outfile,
  });
  if (warnings.length > 0) throw new Error(warnings.map(({ text }) => text).join('\n'));
  return expectLines(process.execPath, [outfile], lines);
}

async function runVite(project: string): Promise<undefined> {
  const warnings: string[] = [];
  await writeFile(join(project, 'index.html'), '<!doctype html><script type="module" src="/program.js"></script>');
  await buildWithVite({
    root: project,
    configFile: false,
    logLevel: 'silent',
    build: {
      outDir: 'vite',
      rollupOptions: {
        output: { entryFileNames: 'program.mjs' },
        onwarn: ({ message }) => void warnings.push(message),
      },
    },
  });
  if (warnings.length > 0) throw new Error(warnings.join('\n'));
  // What Vite adds to load modules early asks for a document, which is not what is tried here.
  const start = "globalThis.document ??= { createElement: () => ({ relList: { supports: () => true } }) }; await import('./program.mjs');";
  await writeFile(join(project, 'vite/start.mjs'), start);
  return expectLines(process.execPath, [join(project, 'vite/start.mjs')], [PROGRAM_LINE]);
}
