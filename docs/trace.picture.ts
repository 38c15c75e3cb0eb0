/**
 * Draws the spans of a call that waits, is refused, fails and succeeds, as they are exported in fake time from the sandbox:
 *
 *     npm exec -c 'node --experimental-transform-types --no-warnings docs/trace.picture.ts'
 *
 * It writes docs/trace.svg; the same sources give the same picture.
 */
import { writeFile } from 'node:fs/promises';
import { context, SpanStatusCode } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { PetStoreClient } from '../src/client.ts';
import { traceClient } from '../src/otel/index.ts';
import { createSandbox } from '../src/sandbox/index.ts';
import { FakeTime } from './fake-time.ts';

const START_MS = Date.parse('2026-11-21T12:00:49Z');
const HOUR_MS = 3_600_000;

/** Lets an application restock one pet, and gives the spans in the order in which they began. */
async function record(time: FakeTime): Promise<ReadableSpan[]> {
  time.set(START_MS);
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const { keys, baseUrl, fetch, faults } = createSandbox({ plans: { pro: { requestsPerMinute: 3 } }, latency: { fromMs: 200, toMs: 400 } });
  const petstore = new PetStoreClient({ apiKey: keys.pro, baseUrl, fetch });
  await time.run(Promise.all([1, 2, 3].map(() => petstore.listInventory())), START_MS + HOUR_MS);
  traceClient(petstore, { tracerProvider });
  faults.add({ at: 4, status: 429, headers: { 'retry-after': '4' } });
  faults.add({ at: 5, status: 500 });
  const restock = tracerProvider.getTracer('shop').startActiveSpan('restock', async (span) => {
    await petstore.updateInventory(2, { quantity: 12 });
    span.end();
  });
  await time.run(restock, START_MS + HOUR_MS);
  const spans = exporter.getFinishedSpans();
  return spans.toSorted((one, other) => startOf(one) - startOf(other) || depthOf(one, spans) - depthOf(other, spans));
}

function startOf({ startTime: [seconds, nanos] }: ReadableSpan): number {
  return seconds * 1000 + nanos / 1e6;
}

function endOf({ endTime: [seconds, nanos] }: ReadableSpan): number {
  return seconds * 1000 + nanos / 1e6;
}

const WIDTH = 760;
const ROW = 26;
const LEFT = 150;
const RIGHT = 560;
const STYLE = `text{font:12px system-ui,sans-serif;fill:#24292f}.app{fill:#8c959f}.call{fill:#0969da}.ok{fill:#1a7f37}.failed{fill:#cf222e}.wait{fill:#bf8700;opacity:.45}.axis{stroke:#8c959f}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.app{fill:#6e7681}.call{fill:#58a6ff}.ok{fill:#3fb950}.failed{fill:#f85149}.wait{fill:#d29922}.axis{stroke:#6e7681}}`;

function draw(spans: readonly ReadableSpan[]): string {
  const [first] = spans;
  if (!first) throw new Error('nothing was recorded');
  const fromMs = startOf(first);
  const scale = (RIGHT - LEFT) / (endOf(first) - fromMs);
  const x = (ms: number) => Math.round(LEFT + (ms - fromMs) * scale);
  const rows = spans.map((span, index) => drawRow(span, { x, y: 12 + index * ROW, depth: depthOf(span, spans) }));
  const bottom = 12 + spans.length * ROW;
  const axis = [0, 5, 10, 15].map((second) => `<text x="${x(fromMs + second * 1000)}" y="${bottom + 16}">${second} s</text>`).join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 26}" role="img" aria-label="The spans of one call, over time"><style>${STYLE}</style>${rows.join('')}<path class="axis" d="M${LEFT} ${bottom}H${RIGHT}"/>${axis}</svg>\n`;
}

interface Place {
  x: (ms: number) => number;
  y: number;
  depth: number;
}

function drawRow(span: ReadableSpan, { x, y, depth }: Place): string {
  const [from, to] = [startOf(span), endOf(span)];
  const width = Math.max(3, x(to) - x(from));
  const bar = `<rect class="${classOf(span, depth)}" x="${x(from)}" y="${y}" width="${width}" height="16" rx="2"/>`;
  const name = `<text x="${8 + depth * 14}" y="${y + 12}">${span.name}</text>`;
  return `${name}${bar}<text x="${x(from) + width + 6}" y="${y + 12}">${[seconds(to - from), ...notesOf(span)].join(', ')}</text>`;
}

function depthOf(span: ReadableSpan, spans: readonly ReadableSpan[]): number {
  const parent = spans.find((each) => each.spanContext().spanId === span.parentSpanContext?.spanId);
  return parent ? 1 + depthOf(parent, spans) : 0;
}

function classOf({ name, status }: ReadableSpan, depth: number): string {
  if (depth < 2) return depth === 0 ? 'app' : 'call';
  if (name.startsWith('wait')) return 'wait';
  return status.code === SpanStatusCode.ERROR ? 'failed' : 'ok';
}

/** What the picture tells of a span's attributes. */
function notesOf({ attributes }: ReadableSpan): string[] {
  const shown = {
    'http.response.status_code': '',
    'http.request.resend_count': 'resend ',
    'petstore.pet_id': 'pet ',
    'petstore.outcome': '',
  };
  return Object.entries(shown)
    .filter(([name]) => attributes[name] !== undefined)
    .map(([name, before]) => `${before}${attributes[name]}`);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

const time = new FakeTime();
time.install();
const picture = draw(await record(time));
if (process.argv.includes('--print')) process.stdout.write(picture);
else await writeFile(new URL('trace.svg', import.meta.url), picture);
process.exit();
