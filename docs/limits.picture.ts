/**
 * Draws what two clients do to one key, in fake time against the sandbox:
 *
 *     npm exec -c 'node --experimental-transform-types --no-warnings docs/limits.picture.ts'
 *
 * It writes docs/limits.svg and prints the figures; the same sources give the same picture.
 */
import { writeFile } from 'node:fs/promises';
import Bottleneck from 'bottleneck';
import ky from 'ky';
import pRetry from 'p-retry';
import { PetStoreClient } from '../src/client.ts';
import { createSandbox, type Sandbox } from '../src/sandbox/index.ts';
import { FakeTime } from './fake-time.ts';

const START_MS = Date.parse('2026-11-21T12:00:20Z');
const CALLS = 150;
const EARLIER = 40;
const SHOWN_SECONDS = 175;

type Update = (petId: number) => Promise<unknown>;
type Wire = (sandbox: Sandbox<string>) => Update;

/** One panel: what the service saw, second by second. */
interface Panel {
  title: string;
  accepted: number[];
  refused: number[];
  banned: number[];
  remaining: number[];
  doneSeconds: number;
  succeeded: number;
}

const ours: Wire = ({ baseUrl, fetch, keys }) => {
  const client = new PetStoreClient({ apiKey: keys.free ?? '', baseUrl, fetch, plan: 'free' });
  return (petId) => client.updateInventory(petId, { quantity: 1 });
};

/** ky, p-retry and bottleneck as their pages show them. */
const obvious: Wire = ({ baseUrl, fetch, keys }) => {
  const limiter = new Bottleneck({ reservoir: 60, reservoirRefreshAmount: 60, reservoirRefreshInterval: 60_000 });
  const http = ky.create({ prefix: baseUrl, fetch, headers: { authorization: `Bearer ${keys.free}` } });
  const send = (petId: number) =>
    http.patch(`inventory/${petId}`, { json: { quantity: 1 }, retry: { methods: ['patch'], limit: 2 } }).json();
  return (petId) => pRetry(() => limiter.schedule(() => send(petId)), { retries: 5 });
};

async function play(title: string, wire: Wire, time: FakeTime): Promise<Panel> {
  time.set(START_MS - 15_000);
  const sandbox = createSandbox({ pets: CALLS, latency: { fromMs: 20, toMs: 200 } });
  const earlier = Array.from({ length: EARLIER }, () => sandbox.fetch(`${sandbox.baseUrl}/inventory`, authorized(sandbox)));
  await time.run(Promise.all(earlier), START_MS);
  sandbox.clear();
  time.set(START_MS);
  const update = wire(sandbox);
  let succeeded = 0;
  let doneMs = START_MS;
  const calls = Array.from({ length: CALLS }, async (_, index) => {
    await update(index + 1);
    succeeded++;
    doneMs = Date.now();
  });
  await time.run(Promise.allSettled(calls), START_MS + 3_600_000);
  return { title, ...bySecond(sandbox), succeeded, doneSeconds: Math.round((doneMs - START_MS) / 1000) };
}

function authorized(sandbox: Sandbox<string>): RequestInit {
  return { headers: { authorization: `Bearer ${sandbox.keys.free}` } };
}

function bySecond(sandbox: Sandbox<string>): Pick<Panel, 'accepted' | 'refused' | 'banned' | 'remaining'> {
  const count = (wanted: (status: number | undefined) => boolean): number[] => {
    const counts = new Array<number>(SHOWN_SECONDS).fill(0);
    for (const { atMs, status } of sandbox.requests) {
      const second = Math.floor((atMs - START_MS) / 1000);
      if (wanted(status) && second < SHOWN_SECONDS) counts[second] = (counts[second] ?? 0) + 1;
    }
    return counts;
  };
  const accepted = count((status) => status === 200);
  return {
    accepted,
    refused: count((status) => status === 429),
    banned: count((status) => status === 401),
    remaining: remainingAfter(accepted),
  };
}

/** Stretches in which calls wait and nothing is sent, as pairs of seconds. */
function waits({ accepted, refused, banned, doneSeconds }: Panel): [from: number, to: number][] {
  const isQuiet = (second: number) =>
    second < doneSeconds && (accepted[second] ?? 0) + (refused[second] ?? 0) + (banned[second] ?? 0) === 0;
  const stretches: [number, number][] = [];
  for (let second = 0; second < SHOWN_SECONDS; second++) {
    const last = stretches.at(-1);
    if (!isQuiet(second)) continue;
    if (last?.[1] === second) last[1] = second + 1;
    else stretches.push([second, second + 1]);
  }
  return stretches.filter(([from, to]) => to - from > 1);
}

/** What the fixed minute of the service leaves: it turns with the clock. */
function remainingAfter(accepted: readonly number[]): number[] {
  let left = 60 - EARLIER;
  return accepted.map((count, second) => {
    if ((second + 20) % 60 === 0) left = 60;
    left -= count;
    return left;
  });
}

const WIDTH = 760;
const HEIGHT = 150;
const STYLE = `text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.ok{fill:#1a7f37}.no{fill:#cf222e}.ban{fill:#8250df}.left{fill:none;stroke:#0969da;stroke-width:1.5}.axis{stroke:#8c959f}.wait{fill:#8c959f;opacity:.18}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ok{fill:#3fb950}.no{fill:#f85149}.ban{fill:#bc8cff}.left{stroke:#58a6ff}.axis{stroke:#6e7681}}`;

function draw(panels: readonly Panel[]): string {
  const drawn = panels.map((panel, index) => drawPanel(panel, index * (HEIGHT + 60) + 24));
  const height = panels.length * (HEIGHT + 60) + 20;
  const legend = `<text x="8" y="${height - 6}">bars: requests in each second (green accepted, red 429, violet banned key); line: what the minute has left; grey: calls wait</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Requests and what the limit leaves, over time"><style>${STYLE}</style>${drawn.join('')}${legend}</svg>\n`;
}

function drawPanel(panel: Panel, top: number): string {
  const { title, accepted, refused, banned, remaining, doneSeconds, succeeded } = panel;
  const x = (second: number) => Math.round(30 + (second * (WIDTH - 50)) / SHOWN_SECONDS);
  const y = (count: number) => Math.round(top + HEIGHT - (Math.min(count, 130) * (HEIGHT - 20)) / 130);
  const bars = accepted.map((ok, second) => {
    const [no, ban] = [refused[second] ?? 0, banned[second] ?? 0];
    const stack: [string, number, number][] = [
      ['ok', 0, ok],
      ['no', ok, ok + no],
      ['ban', ok + no, ok + no + ban],
    ];
    return stack
      .map(([kind, from, to]) => (to > from ? `<path class="${kind}" d="M${x(second)} ${y(to)}h4V${y(from)}h-4z"/>` : ''))
      .join('');
  });
  const line = remaining
    .map((left, second) =>
      left === remaining[second - 1] ? '' : `${second === 0 ? 'M' : 'L'}${x(second)} ${y(remaining[second - 1] ?? left)}V${y(left)}`,
    )
    .join('');
  const waiting = waits(panel).map(([from, to]) => `M${x(from)} ${top}H${x(to)}V${top + HEIGHT}H${x(from)}z`);
  const total = (counts: readonly number[]) => counts.reduce((sum, each) => sum + each, 0);
  const sum = `${succeeded} of ${CALLS} calls done after ${doneSeconds} s; ${total(refused)} answers 429, ${total(banned)} of a banned key`;
  const ticks = [0, 40, 100, 160].map((second) => `<text x="${x(second)}" y="${top + HEIGHT + 16}">${second} s</text>`).join('');
  return `<text class="title" x="8" y="${top - 8}">${title}: ${sum}</text><path class="wait" d="${waiting.join('')}"/>${bars.join('')}<path class="left" d="${line}H${x(SHOWN_SECONDS)}"/><path class="axis" d="M30 ${top + HEIGHT}H${WIDTH - 20}"/>${ticks}`;
}

const time = new FakeTime();
time.install();
const panels = [await play('petstore-inventory', ours, time), await play('ky + p-retry + bottleneck', obvious, time)];
await writeFile(new URL('limits.svg', import.meta.url), draw(panels));
for (const { title, succeeded, doneSeconds, refused, banned, accepted } of panels) {
  const [ok, no, ban] = [accepted, refused, banned].map((counts) => counts.reduce((sum, each) => sum + each, 0));
  console.log(`${title}: ${succeeded} of ${CALLS} calls done after ${doneSeconds} s; accepted ${ok}, 429 ${no}, banned ${ban}`);
}
process.exit();
