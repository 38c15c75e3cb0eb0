import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Check } from './check.ts';
import { run } from './check.ts';
import { type Projects, ROOT } from './projects.ts';

/** What the download and the unpacked package may cost, in bytes of 1024. */
const MOST_KIB = { packed: 735, unpacked: 2_365 } as const;
const EXPECTED_FILES =
  /^(?:dist\/(?:(?:cli|parts)\/)?[\w.-]+\.(?:js|d\.ts)|docs\/[\w.-]+\.(?:md|svg|png)|examples\/[\w.-]+\.(?:md|ts)|package\.json|README\.md|AGENTS\.md|CHANGELOG\.md|LICENSE)$/;
const EXPECTED_PACKAGES = ['bottleneck', 'is-network-error', 'ky', 'p-retry', 'petstore-inventory', 'zod'];

export function tarballChecks({ tarball, packed, plain }: Projects): Check[] {
  const bin = (name: string) => join(ROOT, 'node_modules/.bin', name);
  return [
    { title: 'publint --strict finds nothing', run: async () => void (await run(bin('publint'), ['run', tarball, '--strict'])) },
    { title: 'attw finds nothing', run: async () => void (await run(bin('attw'), [tarball, '--profile', 'esm-only'])) },
    { title: 'the tarball holds what is needed and no more', run: async () => checkFiles(packed) },
    { title: 'the tarball keeps to its budget', run: async () => checkSize(packed) },
    { title: 'an installation brings five packages beside this one', run: () => checkInstalled(plain) },
    { title: 'nothing of the machine that built it is in the tarball', run: () => checkTraces(plain) },
    { title: 'the code names no source map that the tarball lacks', run: () => checkSourceMaps(plain) },
  ];
}

function checkFiles({ files }: Projects['packed']): undefined {
  const odd = files.map(({ path }) => path).filter((path) => !EXPECTED_FILES.test(path));
  if (odd.length > 0) throw new Error(`unexpected: ${odd.join(', ')}`);
}

function checkSize({ size, unpackedSize }: Projects['packed']): string {
  const [packed, unpacked] = [size / 1024, unpackedSize / 1024];
  const found = `${packed.toFixed(0)} KiB packed, ${unpacked.toFixed(0)} KiB unpacked`;
  if (packed > MOST_KIB.packed || unpacked > MOST_KIB.unpacked) throw new Error(found);
  return found;
}

async function checkInstalled(project: string): Promise<string> {
  const { stdout } = await run('npm', ['ls', '--all', '--parseable'], { cwd: project });
  const found = stdout
    .trim()
    .split('\n')
    .slice(1)
    .map((path) => path.slice(path.lastIndexOf('node_modules/') + 13));
  const names = [...new Set(found)].sort();
  if (names.join() !== EXPECTED_PACKAGES.join()) throw new Error(`it brings ${names.join(', ')}`);
  return names.join(', ');
}

async function checkTraces(project: string): Promise<undefined> {
  const folder = join(project, 'node_modules/petstore-inventory');
  for (const name of await readdir(folder, { recursive: true })) {
    if (!/\.(?:js|ts|json|md)$/.test(name)) continue;
    const text = await readFile(join(folder, name), 'utf8');
    if (text.includes(ROOT)) throw new Error(`${name} names ${ROOT}`);
  }
}

async function checkSourceMaps(project: string): Promise<undefined> {
  const folder = join(project, 'node_modules/petstore-inventory/dist');
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.js'));
  for (const name of names) {
    const [, map] = /^\/\/# sourceMappingURL=(.+)$/m.exec(await readFile(join(folder, name), 'utf8')) ?? [];
    if (map !== undefined) throw new Error(`${name} names ${map}`);
  }
}
