// Prints the bill of materials of the built package, as CycloneDX JSON: what is bundled into dist/, the run-time dependencies with
// their own, and the optional peers. Ends with 1 where dist/ is not what the sources build.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import type { Metafile, Plugin } from 'esbuild';
import { build } from 'tsup';
import * as z from 'zod/mini';
import configure from '../tsup.config.ts';

const Component = z.looseObject({ 'bom-ref': z.string(), name: z.string(), version: z.string(), scope: z.string() });
const Bill = z.looseObject({
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string(), name: z.string() }) }),
  components: z.array(Component),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});
const Ranges = z.record(z.string(), z.string());
const Manifest = z.object({ name: z.string(), dependencies: Ranges, peerDependencies: Ranges });
const Package = z.object({ name: z.string(), version: z.string() });

export type Bill = z.infer<typeof Bill>;
type Ranges = z.infer<typeof Ranges>;

/** What decides which of the installed packages belong to the package that is published. */
export interface Parts {
  manifest: z.infer<typeof Manifest>;
  /** `name@version` of what is bundled into dist/. */
  bundled: ReadonlySet<string>;
}

/** Why no bill can be made. */
class BillError extends Error {}

/** Keeps the parts of the package, out of npm's bill of everything that is installed, and says how each is used. */
export function selectParts(everything: Bill, { manifest, bundled }: Parts): Bill {
  const root = everything.metadata.component['bom-ref'];
  const dependsOn = new Map(everything.dependencies.map((edge) => [edge.ref, edge.dependsOn]));
  const names = new Map(everything.components.map((component) => [component['bom-ref'], component.name]));
  const directly = (ranges: Ranges) => dependsOn.get(root)?.filter((ref) => (names.get(ref) ?? '') in ranges) ?? [];
  const [dependencies, peers] = [directly(manifest.dependencies), directly(manifest.peerDependencies)];
  const required = reachable(dependencies, dependsOn);
  const components = everything.components.flatMap((component) => {
    const ref = component['bom-ref'];
    const uses = [bundled.has(ref) ? 'bundled' : [], required.has(ref) ? 'dependency' : [], peers.includes(ref) ? 'peer' : []].flat();
    const properties = uses.map((value) => ({ name: 'petstore-inventory:use', value }));
    return uses.length === 0 ? [] : [{ ...component, scope: uses.join() === 'peer' ? 'optional' : 'required', properties }];
  });
  const kept = components.map((component) => component['bom-ref']);
  const direct = new Set([...bundled, ...dependencies, ...peers]);
  const edges = kept.map((ref) => ({ ref, dependsOn: dependsOn.get(ref)?.filter((on) => kept.includes(on)) ?? [] }));
  return {
    ...everything,
    metadata: { ...everything.metadata, component: { ...everything.metadata.component, name: manifest.name } },
    components,
    dependencies: [{ ref: root, dependsOn: kept.filter((ref) => direct.has(ref)) }, ...edges],
  };
}

function reachable(from: string[], dependsOn: ReadonlyMap<string, string[]>): Set<string> {
  const found = new Set(from);
  for (const ref of found) for (const on of dependsOn.get(ref) ?? []) found.add(on);
  return found;
}

/** The folder of the installed package that a bundled file belongs to. */
const PACKAGE_FOLDER = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;

/** The folders of the packages of which a build has at least one byte. */
export function bundledFolders(outputs: Metafile['outputs']): Set<string> {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return new Set(inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? (PACKAGE_FOLDER.exec(path) ?? []) : [])));
}

/** Builds the sources into a folder, and tells of which inputs each file is made. */
async function buildInto(folder: string): Promise<Metafile['outputs']> {
  const found: Metafile['outputs'] = {};
  const collect: Plugin = { name: 'collect', setup: ({ onEnd }) => onEnd(({ metafile }) => void Object.assign(found, metafile?.outputs)) };
  const options = { dts: false, outDir: folder };
  const configured = typeof configure === 'function' ? await configure(options) : configure;
  for (const config of [configured].flat())
    await build({ ...config, outDir: folder, config: false, silent: true, esbuildPlugins: [...(config.esbuildPlugins ?? []), collect] });
  return found;
}

async function assertSameFiles(built: string, published: string): Promise<void> {
  const scripts = (await readdir(published, { recursive: true })).filter((name) => name.endsWith('.js'));
  for (const name of scripts) {
    const [theirs, ours] = await Promise.all([readFile(join(published, name)), readFile(join(built, name)).catch(() => undefined)]);
    if (!ours?.equals(theirs)) throw new BillError(`dist/${name} is not what the sources build: run \`npm run build\` first`);
  }
}

async function readJson<Schema extends z.core.$ZodType>(path: string, schema: Schema): Promise<z.output<Schema>> {
  return z.parse(schema, JSON.parse(await readFile(path, 'utf8')));
}

async function npmSbom(): Promise<Bill> {
  const { stdout } = await promisify(execFile)('npm', ['sbom', '--sbom-format', 'cyclonedx'], { maxBuffer: 2 ** 26 });
  return Bill.parse(JSON.parse(stdout));
}

/** The bill of the package in the working folder. */
export async function makeBill(): Promise<Bill> {
  const folder = await mkdtemp(join(tmpdir(), 'bill-'));
  try {
    const outputs = await buildInto(relative('.', folder));
    await assertSameFiles(folder, 'dist');
    const packages = await Promise.all([...bundledFolders(outputs)].map((path) => readJson(join(path, 'package.json'), Package)));
    const bundled = new Set(packages.map(({ name, version }) => `${name}@${version}`));
    return selectParts(await npmSbom(), { manifest: await readJson('package.json', Manifest), bundled });
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (import.meta.main)
  await makeBill().then(
    (bill) => console.log(JSON.stringify(bill, undefined, 2)),
    (error: unknown) => {
      if (!(error instanceof BillError)) throw error;
      console.error(`Cannot make a bill of materials: ${error.message}`);
      process.exitCode = 1;
    },
  );
