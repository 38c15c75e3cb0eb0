import { describe, expect, test } from 'vitest';
import { cyclesOf, functionsOf, layerOf, readSource, uncheckedOf } from './support/source.ts';

const files = readSource();

const SERVICE = ['contract', 'errors', 'events', 'redactor', 'clock'];

/**
 * What each folder of src/, or file at its top, may import of the others. Values go down as a request and come up as a reply, so
 * imports point down only; pipeline.ts alone knows the order of the steps.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  contract: [],
  clock: [],
  redactor: [],
  thrown: [],
  'certificate-codes': [],
  'proxy-codes': [],
  version: [],
  channels: [],
  'shared-table': [],
  'around-fetch': ['shared-table', 'thrown'],
  duration: [],
  json: ['contract', 'errors', 'thrown'],
  errors: ['contract', 'thrown'],
  'hiding-key': ['errors', 'redactor', 'shared-table'],
  events: ['channels', 'contract', 'errors', 'thrown'],
  'quota-store': ['contract'],
  options: ['contract', 'errors', 'events', 'quota-store', 'redactor', 'thrown'],
  call: ['clock', 'contract', 'duration', 'errors', 'events', 'options'],
  'load-part': ['clock', 'errors', 'thrown'],
  'log-lines': ['call', 'events', 'redactor', 'thrown'],
  order: ['call', 'clock', 'contract', 'shared-table'],
  retry: ['call', 'certificate-codes', 'clock', 'contract', 'errors', 'load-part', 'proxy-codes'],
  quota: [
    'call',
    'clock',
    'contract',
    'duration',
    'errors',
    'events',
    'load-part',
    'options',
    'proxy-codes',
    'quota-store',
    'redactor',
    'thrown',
  ],
  transport: [
    ...SERVICE,
    'around-fetch',
    'call',
    'certificate-codes',
    'duration',
    'json',
    'load-part',
    'options',
    'proxy-codes',
    'shared-table',
    'thrown',
    'version',
  ],
  operations: ['call', 'clock', 'contract', 'errors', 'json', 'load-part', 'options', 'redactor', 'thrown', 'transport'],
  'inventory-stream': ['contract', 'errors', 'operations'],
  reply: ['errors', 'thrown'],
  api: ['contract', 'errors', 'events', 'operations', 'options', 'quota', 'reply'],
  'update-news': ['contract', 'errors', 'shared-table'],
  departures: ['api', 'contract'],
  pipeline: [...SERVICE, 'call', 'operations', 'options', 'order', 'quota', 'reply', 'retry', 'thrown', 'transport', 'update-news'],
  client: [
    ...SERVICE,
    'api',
    'hiding-key',
    'inventory-stream',
    'log-lines',
    'operations',
    'options',
    'order',
    'pipeline',
    'quota',
    'reply',
    'transport',
  ],
  'record-calls': ['api', 'client', 'clock', 'contract', 'errors', 'events', 'hiding-key', 'options', 'thrown', 'version'],
  stock: ['contract'],
  sync: [
    'api',
    'quota',
    'contract',
    'departures',
    'errors',
    'hiding-key',
    'clock',
    'load-part',
    'options',
    'order',
    'stock',
    'thrown',
    'update-news',
  ],
  view: ['api', 'clock', 'contract', 'departures', 'errors', 'hiding-key', 'options', 'order', 'quota', 'stock', 'thrown', 'update-news'],
  index: [
    'api',
    'client',
    'contract',
    'errors',
    'events',
    'inventory-stream',
    'operations',
    'options',
    'quota',
    'quota-store',
    'record-calls',
    'reply',
    'retry',
    'sync',
    'view',
  ],
  // The fake must not share the client's mistakes.
  sandbox: ['contract'],
  node: [
    'api',
    'certificate-codes',
    'proxy-codes',
    'client',
    'contract',
    'clock',
    'duration',
    'errors',
    'events',
    'hiding-key',
    'json',
    'options',
    'quota',
    'quota-store',
    'redactor',
    'sandbox',
    'sync',
    'thrown',
  ],
  redis: ['clock', 'options', 'quota-store', 'thrown'],
  undici: ['certificate-codes', 'clock', 'errors', 'options', 'thrown', 'transport'],
  otel: ['api', 'around-fetch', 'client', 'errors', 'events', 'hiding-key', 'options', 'thrown', 'version'],
  cli: [
    'api',
    'client',
    'clock',
    'inventory-stream',
    'options',
    'quota',
    'reply',
    'contract',
    'duration',
    'errors',
    'events',
    'index',
    'log-lines',
    'node',
    'quota-store',
    'record-calls',
    'redactor',
    'redis',
    'sandbox',
    'stock',
    'sync',
    'version',
    'view',
    'thrown',
  ],
};

/** Imports as `from -> to`, of the files of which `concerns` holds. */
function importsWhere(concerns: (from: string, to: string) => boolean): string[] {
  return files.flatMap(({ path, imports }) => imports.filter((to) => concerns(path, to)).map((to) => `${path} -> ${to}`));
}

const isOfSource = (to: string) => files.some(({ path }) => path === to);
const isIn = (path: string, ...layers: string[]) => layers.includes(layerOf(path));

describe('the source', () => {
  test('contains at least one file', () => {
    expect(files.length).toBeGreaterThan(60);
    expect(importsWhere((from, to) => from === 'index.ts' && to === 'client.ts')).toEqual(['index.ts -> client.ts']);
  });

  test('has no folder or top file without a rule', () => {
    expect(files.map(({ path }) => layerOf(path)).filter((layer) => !Object.hasOwn(MAY_IMPORT, layer))).toEqual([]);
  });

  test('imports only what the rule of its folder allows', () => {
    const forbidden = (from: string, to: string) =>
      isOfSource(to) && layerOf(from) !== layerOf(to) && MAY_IMPORT[layerOf(from)]?.includes(layerOf(to)) !== true;
    expect(importsWhere(forbidden)).toEqual([]);
  });

  test('lets the gate import the lease and the ledger, the lease import the ledger, and the ledger import neither', () => {
    const upwards: [from: string, to: string][] = [
      ['quota/ledger/', 'quota/gate/'],
      ['quota/ledger/', 'quota/lease/'],
      ['quota/lease/', 'quota/gate/'],
    ];
    expect(importsWhere((path, to) => upwards.some(([low, high]) => path.startsWith(low) && to.startsWith(high)))).toEqual([]);
    expect(importsWhere((path, to) => path === 'quota/gate/gate.ts' && to === 'quota/ledger/ledger.ts')).toHaveLength(1);
  });

  test('imports files that are there, and none outside src/', () => {
    expect(importsWhere((_from, to) => to.endsWith('.ts') && !isOfSource(to))).toEqual([]);
    expect(importsWhere((_from, to) => to.startsWith('.'))).toEqual([]);
  });

  test('has no import cycles, types included', () => {
    expect(cyclesOf(files)).toEqual([]);
  });

  test("asks for Node's modules in node/, undici/ and cli/ only", () => {
    expect(importsWhere((from, to) => to.startsWith('node:') && !isIn(from, 'node', 'undici', 'cli'))).toEqual([]);
  });

  test('takes zod as zod/mini or zod/v4/core', () => {
    expect(importsWhere((_from, to) => /^zod($|\/)/.test(to) && to !== 'zod/mini' && to !== 'zod/v4/core')).toEqual([]);
  });

  test('knows Redis in redis/ only, and OpenTelemetry in otel/ only', () => {
    expect(importsWhere((from, to) => /^(ioredis|redis|@redis\/.*)$/.test(to) && !isIn(from, 'redis'))).toEqual([]);
    expect(importsWhere((from, to) => to.startsWith('@opentelemetry/') && !isIn(from, 'otel'))).toEqual([]);
  });

  test('keeps each library in the step that needs it', () => {
    expect(importsWhere((from, to) => /^ky($|\/)/.test(to) && !isIn(from, 'transport'))).toEqual([]);
    expect(importsWhere((from, to) => /^p-retry($|\/)/.test(to) && !isIn(from, 'retry'))).toEqual([]);
    expect(importsWhere((from, to) => /^bottleneck($|\/)/.test(to) && !isIn(from, 'quota'))).toEqual([]);
    expect(importsWhere((from, to) => to.startsWith('@modelcontextprotocol/') && !/^cli\/(mcp\/|commands\/mcp\.ts)/.test(from))).toEqual(
      [],
    );
    expect(importsWhere((from, to) => /^(hono|zod-openapi)($|\/)/.test(to) && !isIn(from, 'sandbox', 'node'))).toEqual([]);
  });

  test('has no `any`, no `!` and no assertion but `as const`', () => {
    expect(files.flatMap(uncheckedOf)).toEqual([]);
  });

  test('recognises a promise by isPromise, since a program may have replaced the global Promise', () => {
    expect(files.filter(({ tree }) => tree.text.includes('instanceof Promise')).map(({ path }) => path)).toEqual([]);
  });

  test('has no function of more than 45 lines, and nine of ten have 25 at most', () => {
    const functions = files.flatMap(functionsOf);
    const long = functions.filter(({ lines }) => lines > 45);
    expect(long.map(({ where, lines }) => `${where} has ${lines}`)).toEqual([]);
    expect(functions.filter(({ lines }) => lines <= 25).length / functions.length).toBeGreaterThanOrEqual(0.9);
  });
});

test('cyclesOf finds an import cycle', () => {
  const imports = (path: string, ...others: string[]) => ({ path, imports: others });
  expect(cyclesOf([imports('a.ts', 'b.ts'), imports('b.ts', 'c.ts', 'd.ts'), imports('c.ts', 'a.ts'), imports('d.ts')])).toEqual([
    'a.ts -> b.ts -> c.ts -> a.ts',
  ]);
  expect(cyclesOf([imports('a.ts', 'b.ts', 'c.ts'), imports('b.ts', 'c.ts'), imports('c.ts')])).toEqual([]);
});
