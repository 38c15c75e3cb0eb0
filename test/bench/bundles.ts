// What each client adds to a page: one bundle for browsers, minified, gzipped.
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const ENTRIES: Record<string, string> = {
  'petstore-inventory': `export { PetStoreClient } from '../../dist/index.js'`,
  ky: `export { default } from 'ky'`,
  'ky + p-retry + bottleneck + zod': `import ky from 'ky'; import pRetry from 'p-retry'; import Bottleneck from 'bottleneck'; import * as z from 'zod'; export { ky, pRetry, Bottleneck, z }`,
  openai: `export { default } from 'openai'`,
  stripe: `export { default } from 'stripe'`,
  'octokit + retry + throttling': `export { Octokit } from '@octokit/core'; export { retry } from '@octokit/plugin-retry'; export { throttling } from '@octokit/plugin-throttling'`,
};

/** Bytes of each bundle. */
export async function measureBundles(): Promise<Record<string, number>> {
  const sizes = Object.entries(ENTRIES).map(async ([name, contents]) => {
    const stdin = { contents, resolveDir: import.meta.dirname };
    const { outputFiles } = await build({
      stdin,
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      platform: 'browser',
      target: 'es2023',
      logLevel: 'error',
    });
    return [name, gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).byteLength] as const;
  });
  return Object.fromEntries(await Promise.all(sizes));
}
