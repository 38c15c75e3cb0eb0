// Measures everything and writes docs/performance.md and docs/performance.svg: `npm run bench` (about ten minutes).
import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { measureBundles, measureImports } from './bundles.ts';
import { drawBars, type Group } from './chart.ts';
import { LIST_CASES, type ListCost, measureList } from './lists.ts';
import { PEERS } from './peers.ts';
import { type Cost, measureCalls } from './per-call.ts';
import { inProcess } from './processes.ts';

const OURS = /^petstore-inventory|Inventory/;
const docs = new URL('../../docs/', import.meta.url);
const times = (value: number) => (Number.isNaN(value) ? '' : `${value.toFixed(2)}x`);
const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;

async function measureAllocations(): Promise<Record<string, number>> {
  const nursery = ['--expose-gc', '--min-semi-space-size=512', '--max-semi-space-size=512'];
  const entries: [string, number][] = [];
  for (const name of Object.keys(PEERS))
    entries.push([name, (await inProcess<{ bytes: number }>('allocations.ts', [name], nursery)).bytes]);
  return Object.fromEntries(entries);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

function callTable(single: Record<string, Cost>, many: Record<string, Cost>, bytes: Record<string, number>): string {
  const base = bytes.fetch ?? Number.NaN;
  const rows = Object.keys(PEERS).map((name) => {
    const [one, fifty] = [single[name], many[name]];
    return [
      name,
      times(one?.cpu ?? Number.NaN),
      times(one?.p50 ?? Number.NaN),
      times(fifty?.cpu ?? Number.NaN),
      times(fifty?.p50 ?? Number.NaN),
      times((bytes[name] ?? Number.NaN) / base),
    ];
  });
  return table(['client', 'CPU', 'median latency', 'CPU, 50 in flight', 'median of 50, 50 in flight', 'bytes allocated'], rows);
}

function listTable(costs: Record<string, ListCost>): string {
  const rows = Object.entries(costs).map(([way, { cpu, cpuMs, peakMb, firstItemMs }]) => {
    return [
      way,
      times(cpu),
      `${cpuMs.toFixed(0)} ms`,
      `${peakMb.toFixed(0)} MiB`,
      firstItemMs === undefined ? '' : `${firstItemMs.toFixed(0)} ms`,
    ];
  });
  return table(['way', 'CPU', 'CPU time', 'peak memory', 'first item after the headers'], rows);
}

function barsOf(title: string, values: Record<string, number>, text: (value: number) => string): Group {
  const bars = Object.entries(values).map(([label, value]) => ({ label, value, text: text(value), isOurs: OURS.test(label) }));
  return { title, bars: bars.filter((bar) => Number.isFinite(bar.value)) };
}

console.error('calls');
const single = await measureCalls(1);
const many = await measureCalls(50);
const bytes = await measureAllocations();
const lists: [string, Record<string, ListCost>][] = [];
for (const listCase of LIST_CASES) {
  console.error(listCase.name);
  lists.push([listCase.name, await measureList(listCase)]);
}
console.error('bundles and imports');
const bundles = await measureBundles();
const imports = await measureImports();

const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}`;
const page = `# Performance

Made by \`npm run bench\` on ${machine}. All clients of a table are measured in the same run, in interleaved rounds, and a figure is the median of
the rounds. Ratios are to bare \`fetch\` and \`json()\`: they hold elsewhere, absolute times do not. The code is in \`test/bench\`.

![Ratios to fetch and to res.json()](performance.svg)

## A call

A list of three items over loopback HTTP, with free quota, each client in a process of its own. Bytes are counted in process, with a fetch that answers from memory.

${callTable(single, many, bytes)}

## A list

Read over loopback HTTP, each way in a process of its own. \`listInventory\` and \`streamInventory\` validate every item; the others do not.

${lists.map(([name, costs]) => `### ${name}\n\n${listTable(costs)}`).join('\n\n')}

## A page and a start

A bundle for browsers by esbuild, minified and gzipped, with everything it needs; and what an import takes in a fresh process.

${table(
  ['client', 'bundle'],
  Object.entries(bundles).map(([name, size]) => [name, kilobytes(size)]),
)}

${table(
  ['import', 'time'],
  Object.entries(imports).map(([name, ms]) => [name, `${ms.toFixed(1)} ms`]),
)}
`;
const million = lists.find(([name]) => name === '1,000,000 items')?.[1] ?? {};
const chart = drawBars([
  barsOf('CPU of a call, 1 = fetch', Object.fromEntries(Object.entries(single).map(([name, cost]) => [name, cost.cpu])), times),
  barsOf(
    'CPU of a call with 50 in flight, 1 = fetch',
    Object.fromEntries(Object.entries(many).map(([name, cost]) => [name, cost.cpu])),
    times,
  ),
  barsOf(
    'CPU of a list of a million items, 1 = res.json()',
    Object.fromEntries(Object.entries(million).map(([way, cost]) => [way, cost.cpu])),
    times,
  ),
  barsOf(
    'Peak memory of a list of a million items',
    Object.fromEntries(Object.entries(million).map(([way, cost]) => [way, cost.peakMb])),
    (mb) => `${mb.toFixed(0)} MiB`,
  ),
]);
await writeFile(new URL('performance.md', docs), page);
await writeFile(new URL('performance.svg', docs), chart);
console.log(page);
process.exit(0);
