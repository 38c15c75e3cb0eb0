// Measures everything and writes docs/performance.md and docs/performance.svg: `npm run bench` (about ten minutes), or the sections
// that it is given: `npm run bench -- 'A call' Memory`.
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { measureBundles } from './bundles.ts';
import { drawBars, type Group } from './chart.ts';
import { LIST_CASES, type ListCost, measureList } from './lists.ts';
import { measureMemory } from './memory.ts';
import { PEERS } from './peers.ts';
import { type Cost, measureCalls } from './per-call.ts';
import { inProcess } from './processes.ts';
import { measureStarts } from './starts.ts';
import { measureWorkers } from './workers.ts';

const OURS = /^petstore-inventory|Inventory/;
const docs = new URL('../../docs/', import.meta.url);
const times = (value: number) => (Number.isNaN(value) ? '' : `${value.toFixed(2)}x`);
const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;

async function measureAllocations(): Promise<Record<string, number>> {
  const nursery = ['--expose-gc', '--min-semi-space-size=512', '--max-semi-space-size=512'];
  const entries: [string, number][] = [];
  // undiciFetch is another network, and none is asked here.
  for (const name of Object.keys(PEERS).filter((each) => !/undici/.test(each)))
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

/** Where another client costs less. */
function ahead(costs: Record<string, Cost>, title: string): string {
  const ours = costs['petstore-inventory']?.cpu ?? Number.NaN;
  const names = Object.entries(costs).filter(([name, { cpu }]) => cpu < ours && !/^fetch/.test(name) && !OURS.test(name));
  return names.length === 0
    ? ''
    : ` ${title}, these clients use less CPU than petstore-inventory: ${names.map(([name, { cpu }]) => `${name} (${times(cpu)})`).join(', ')}.`;
}

async function calls(): Promise<string> {
  const [single, many, bytes] = [await measureCalls(1), await measureCalls(50), await measureAllocations()];
  return `A list of three items over loopback HTTP, with quota left, each client in its own process. Allocated bytes are counted with a fetch that answers from memory.${ahead(single, 'With one call at a time')}${ahead(many, 'With 50 in flight')}

${callTable(single, many, bytes)}`;
}

async function lists(): Promise<string> {
  const parts = [
    'A list read over loopback HTTP, each way in its own process. `listInventory` and `streamInventory` validate every item; the others do not.',
  ];
  for (const listCase of LIST_CASES) parts.push(`### ${listCase.name}\n\n${listTable(await measureList(listCase))}`);
  return parts.join('\n\n');
}

async function page(): Promise<string> {
  const sizes = Object.entries(await measureBundles()).map(([name, size]) => [name, kilobytes(size)]);
  return `The size of a browser bundle in one file by esbuild, minified and gzipped, with all dependencies. With code splitting, a page loads a part of petstore-inventory at once, and the rest when it is needed ([sizes](runtimes.md#sizes)).\n\n${table(['client', 'bundle'], sizes)}`;
}

async function start(): Promise<string> {
  const rows = Object.entries(await measureStarts()).map(([name, { ms, ratio }]) => [name, times(ratio), `${ms.toFixed(0)} ms`]);
  const workers = Object.entries(await measureWorkers()).map(([name, { ms, ratio }]) => {
    return [name, times(ratio.whole), `${ms.whole.toFixed(0)} ms`, times(ratio.request), `${ms.request.toFixed(0)} ms`];
  });
  return `The time of a program that lists three items once, from its start to its end.

${table(['program', 'start to end', 'time'], rows)}

The time of a worker that does so in its first request, in workerd: with the start of workerd, and of the request alone.

${table(['worker', 'start and request', 'time', 'request', 'time'], workers)}`;
}

async function memory(): Promise<string> {
  const rows = Object.entries(await measureMemory()).map(([what, kb]) => [what, `${kb.toFixed(1)} kB`]);
  return `The memory that is kept while no call is under way.\n\n${table(['kept', 'memory'], rows)}`;
}

const SECTIONS: Record<string, () => Promise<string>> = {
  'A call': calls,
  'A list': lists,
  'A page': page,
  'A start': start,
  Memory: memory,
};

/** The sections of the page as they are. */
function sectionsOf(text: string): Record<string, string> {
  const parts = text.split(/^## /m).slice(1);
  return Object.fromEntries(parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n')).trim()]));
}

/** The numbers of a column, by the rows' names, of the first table behind a heading. */
function columnOf(text: string, heading: string, column: number): Record<string, number> {
  const rows =
    (text.split(heading)[1] ?? '')
      .split('\n\n')
      .find((part) => part.startsWith('|'))
      ?.split('\n')
      .slice(2) ?? [];
  return Object.fromEntries(
    rows.map((row) => row.split('|').map((cell) => cell.trim())).map((cells) => [cells[1], Number.parseFloat(cells[column + 1] ?? '')]),
  );
}

const file = new URL('performance.md', docs);
const asked = process.argv.slice(2);
const sections = sectionsOf(await readFile(file, 'utf8'));
/** The load shows whether other work took part of the machine. */
const machine = () =>
  `${cpus().length} cores (${cpus()[0]?.model.trim()}), load average ${loadavg()[0]?.toFixed(0)}, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}`;
for (const [name, measure] of Object.entries(SECTIONS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  console.error(name);
  sections[name] = `${await measure()}\n\n${machine()}.`;
}
const text = `# Performance

This page compares what calls and lists cost with this package, bare \`fetch\` and other clients. \`npm run bench\` makes it, and \`npm run bench -- 'A call'\` one section of it.
All clients of a table are measured in the same run, in interleaved rounds, and each figure is the median of the rounds. Ratios are relative to bare \`fetch\` and \`json()\`: compare them within a table. Other machines give other ratios too, though they differ less than absolute times. The code is in \`test/bench\`.

![Ratios to fetch and to res.json()](performance.svg)

${Object.keys(SECTIONS)
  .filter((name) => sections[name] !== undefined)
  .map((name) => `## ${name}\n\n${sections[name]}`)
  .join('\n\n')}
`;
const chart = drawBars([
  barsOf('CPU of a call, 1 = fetch', columnOf(text, '## A call', 1), times),
  barsOf('CPU of a call with 50 in flight, 1 = fetch', columnOf(text, '## A call', 3), times),
  barsOf('CPU of a list of a million items, 1 = res.json()', columnOf(text, '### 1,000,000 items\n', 1), times),
  barsOf('Peak memory of a list of a million items', columnOf(text, '### 1,000,000 items\n', 3), (mb) => `${mb.toFixed(0)} MiB`),
]);
await writeFile(file, text);
await writeFile(new URL('performance.svg', docs), chart);
console.log(text);
process.exit(0);
