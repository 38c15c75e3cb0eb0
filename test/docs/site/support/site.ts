import { globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, extname, join } from 'node:path';
import { ROOT } from '../../support/installed-package.ts';

/** Where `npm run docs` puts the site. */
export const SITE = join(ROOT, 'docs/api');

/** All pages, as paths below the site. */
export const PAGES = globSync('**/*.html', { cwd: SITE }).toSorted();

/** The guides in the order in which typedoc.json names them, each with its address and its heading. */
export const GUIDES = guidesOf(readFileSync(join(ROOT, 'typedoc.json'), 'utf8'));

export interface Guide {
  group: string;
  page: string;
  title: string;
}

function guidesOf(config: string): Guide[] {
  const { guides } = JSON.parse(config);
  return Object.entries<string[]>(guides).flatMap(([group, paths]) => paths.map((path) => guideOf(group, path)));
}

function guideOf(group: string, path: string): Guide {
  const title = /^# (.+)$/m.exec(readFileSync(join(ROOT, path), 'utf8'))?.[1] ?? '';
  return { group, page: `documents/${basename(path.replace(/(?:\/README)?\.md$/, '')).toLowerCase()}.html`, title };
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** Serves the site over loopback, as a host of files would. */
export async function serveSite(): Promise<AsyncDisposable & { url: string }> {
  const files = new Set(globSync('**/*.*', { cwd: SITE }));
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://site').pathname.slice(1)) || 'index.html';
    if (!files.has(path)) return response.writeHead(404).end();
    return response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'text/plain' }).end(readFileSync(join(SITE, path)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}/`, [Symbol.asyncDispose]: close };
}
