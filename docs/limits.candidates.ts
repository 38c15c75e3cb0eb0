/**
 * Draws which ways of counting the client still holds possible after each answer, for four services that count in different ways:
 *
 *     npm exec -c 'node --experimental-transform-types --no-warnings docs/limits.candidates.ts'
 *
 * It writes docs/limits.candidates.svg; the same sources give the same picture.
 */
import { writeFile } from 'node:fs/promises';
import type { Candidate } from '../src/quota/ledger/candidates/candidate.ts';
import { FixedWindow } from '../src/quota/ledger/candidates/fixed-window.ts';
import { SlidingCounter } from '../src/quota/ledger/candidates/sliding-counter.ts';
import { SlidingLog } from '../src/quota/ledger/candidates/sliding-log.ts';
import { TokenBucket } from '../src/quota/ledger/candidates/token-bucket.ts';
import { QuotaWindow } from '../src/quota/ledger/quota-window.ts';
import { createWindow, type Policy } from '../src/sandbox/windows.ts';

const START_MS = Date.parse('2026-11-21T12:00:20Z');
const MINUTE_MS = 60_000;
const SHOWN_SECONDS = 150;
const LIMIT = 20;
const EARLIER = 4;
const LATENCY_MS = 200;
const HOPELESS = 4;

const SERVICES = [
  ['fixed-clock', 'minutes by the clock'],
  ['sliding-log', 'the last 60 seconds'],
  ['sliding-counter', 'a weighted counter of two minutes'],
  ['token-bucket', 'a bucket that refills'],
] as const;

const WAYS = [
  [FixedWindow, 'window'],
  [SlidingLog, 'log'],
  [SlidingCounter, 'counter'],
  [TokenBucket, 'bucket'],
] as const;

type Way = (typeof WAYS)[number][1];

/** What was thought after one answer. */
interface Thought {
  seconds: number;
  isRefused: boolean;
  remaining: number;
  doubts: Record<Way, number>;
  lead: Way | undefined;
}

function wayOf(candidate: Candidate | undefined): Way | undefined {
  return WAYS.find(([kind]) => candidate instanceof kind)?.[1];
}

/** Asks a service for as much as its answers seem to allow, one request after the other, on a key that was used a little before. */
function ask(policy: Policy): Thought[] {
  const service = createWindow(policy, { limit: LIMIT, lengthMs: MINUTE_MS });
  for (let earlier = 0; earlier < EARLIER; earlier++) service.take(START_MS - 10_000);
  const ledger = new QuotaWindow(LIMIT, MINUTE_MS);
  const thoughts: Thought[] = [];
  for (let nowMs = START_MS; nowMs < START_MS + SHOWN_SECONDS * 1_000; ) {
    ledger.turn(nowMs, 0);
    if (ledger.free(nowMs) < 1) nowMs = Math.max(nowMs + 1, Math.min(ledger.freeAt(1, nowMs), nowMs + 1_000));
    else {
      thoughts.push(send(ledger, service, nowMs));
      nowMs += LATENCY_MS;
    }
  }
  return thoughts;
}

function send(ledger: QuotaWindow, service: ReturnType<typeof createWindow>, sentAtMs: number): Thought {
  const [arrivedAtMs, nowMs] = [sentAtMs + LATENCY_MS / 2, sentAtMs + LATENCY_MS];
  ledger.add(sentAtMs);
  const isRefused = service.remaining(arrivedAtMs) <= 0;
  if (!isRefused) service.take(arrivedAtMs);
  const remaining = service.remaining(arrivedAtMs);
  const resetMs = Math.ceil(service.resetAtMs(arrivedAtMs) / 1_000) * 1_000;
  const retryAfterMs = isRefused ? Math.ceil((service.opensAtMs(arrivedAtMs) - arrivedAtMs) / 1_000) * 1_000 : undefined;
  const reset = { atMs: resetMs, endsAtMs: resetMs, slackMs: 0 };
  const status = isRefused ? 429 : 200;
  ledger.answer(sentAtMs, nowMs);
  ledger.observeLimit(LIMIT);
  ledger.observe({ status, remaining, reset, serverMs: arrivedAtMs, retryAfterMs, sentAtMs, unanswered: 0, concurrent: 0, nowMs });
  if (retryAfterMs !== undefined) ledger.invite(nowMs + retryAfterMs);
  const doubts = { window: HOPELESS, log: HOPELESS, counter: HOPELESS, bucket: HOPELESS };
  for (const candidate of ledger.candidates) doubts[wayOf(candidate) ?? 'window'] = candidate.doubt;
  return { seconds: (nowMs - START_MS) / 1_000, isRefused, remaining, doubts, lead: wayOf(ledger.lead) };
}

const WIDTH = 760;
const ROW = 15;
const PANEL = 4 * ROW + 52;
const LEFT = 74;
const STYLE = `text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.way{fill:#0969da}.lead{fill:#1a7f37}.no{stroke:#cf222e;stroke-width:2}.axis{stroke:#8c959f}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.way{fill:#58a6ff}.lead{fill:#3fb950}.no{stroke:#f85149}.axis{stroke:#6e7681}}`;

function x(seconds: number): number {
  return Math.round(LEFT + (seconds * (WIDTH - LEFT - 16)) / SHOWN_SECONDS);
}

/** A stretch of time in which one way of counting was thought of alike. */
interface Stretch {
  from: number;
  to: number;
  shade: string;
  isLead: boolean;
}

function stretches(thoughts: readonly Thought[], way: Way): Stretch[] {
  const found: Stretch[] = [];
  for (const { seconds, doubts, lead } of thoughts) {
    const from = x(seconds);
    const shade = (Math.max(0, 1 - doubts[way] / HOPELESS) * 0.85 + 0.05).toFixed(2);
    const last = found.at(-1);
    if (last) last.to = from;
    if (last?.shade === shade && last.isLead === (lead === way)) continue;
    if (last?.from === from) found.pop();
    found.push({ from, to: from, shade, isLead: lead === way });
  }
  return found.map((stretch, index) => (index < found.length - 1 ? stretch : { ...stretch, to: x(SHOWN_SECONDS) }));
}

function drawPanel(title: string, thoughts: readonly Thought[], top: number): string {
  const rows = WAYS.map(([, way], row) => {
    const y = top + row * ROW;
    const spans = stretches(thoughts, way).map(({ from, to, shade, isLead }) => {
      return `<path class="${isLead ? 'lead' : 'way'}" opacity="${shade}" d="M${from} ${y}H${to}v${ROW - 3}H${from}z"/>`;
    });
    return `<text x="14" y="${y + 11}">${way}</text>${spans.join('')}`;
  });
  const bottom = top + 4 * ROW;
  const refused = thoughts.filter((thought) => thought.isRefused).map(({ seconds }) => `M${x(seconds)} ${top - 3}V${bottom}`);
  const sent = thoughts.map(({ seconds }) => `M${x(seconds)} ${bottom}v5`);
  const ticks = [0, 40, 100].map((seconds) => `<text x="${x(seconds)}" y="${bottom + 20}">${seconds} s</text>`).join('');
  const sum = `${thoughts.length - refused.length} requests, ${refused.length} answers 429`;
  return `<text class="title" x="8" y="${top - 8}">${title}: ${sum}</text>${rows.join('')}<path class="axis" d="${sent.join('')}M${LEFT} ${bottom}H${WIDTH - 16}"/><path class="no" d="${refused.join('')}"/>${ticks}`;
}

const panels = SERVICES.map(([policy, name], index) => drawPanel(`The service counts ${name}`, ask(policy), index * PANEL + 26));
const height = SERVICES.length * PANEL + 30;
const legend = `<text x="8" y="${height - 8}">blue: possible; faint: contradicted; green: leads; ticks: answers; red: a 429; the clock's minute turns at 40 and 100 s</text>`;
const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Which ways of counting are possible after each answer"><style>${STYLE}</style>${panels.join('')}${legend}</svg>\n`;

if (process.argv.includes('--print')) process.stdout.write(picture);
else await writeFile(new URL('limits.candidates.svg', import.meta.url), picture);
