import type { RecordedRequest, Recording } from './recording.ts';
import type { Replayed } from './replay.ts';

/** Rows of the table by time, at most. */
const MOST_ROWS = 24;
const SLICES_MS = [1_000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000];

/** What a client did, in figures. */
export interface Figures {
  readonly requests: number;
  /** Answered 429. */
  readonly refused: number;
  /** Answered 5xx, or broken before the answer was complete. */
  readonly failed: number;
  /** Given up by their call, or still in flight when the recording ends. */
  readonly unanswered: number;
  readonly succeeded: number;
  readonly callsFailed: number;
  readonly longestCallMs: number;
  readonly tookMs: number;
}

/** Counts what a recording says. */
export function figuresOf({ calls, requests, beganAtMs, endedAtMs }: Recording): Figures {
  const ended = calls.flatMap(({ settled }) => settled ?? []);
  const succeeded = ended.filter(({ kind }) => kind === undefined).length;
  return {
    requests: requests.length,
    refused: requests.filter(({ status }) => status === 429).length,
    failed: requests.filter(hasFailed).length,
    unanswered: requests.filter(isUnanswered).length,
    succeeded,
    callsFailed: ended.length - succeeded,
    longestCallMs: ended.reduce((longestMs, { ms }) => Math.max(longestMs, ms), 0),
    tookMs: endedAtMs - beganAtMs,
  };
}

function hasFailed(request: RecordedRequest): boolean {
  const { status, kind } = request;
  if (status === undefined) return !isUnanswered(request);
  return status >= 500 || (status < 300 && (kind === 'connection' || kind === 'timeout'));
}

function isUnanswered({ status, kind }: RecordedRequest): boolean {
  return status === undefined && (kind === undefined || kind === 'abort');
}

const ROWS: readonly [name: string, show: (figures: Figures) => string][] = [
  ['requests', ({ requests }) => String(requests)],
  ['  answered 429', ({ refused }) => String(refused)],
  ['  failed', ({ failed }) => String(failed)],
  ['  unanswered', ({ unanswered }) => String(unanswered)],
  ['calls that succeeded', ({ succeeded }) => String(succeeded)],
  ['calls that failed', ({ callsFailed }) => String(callsFailed)],
  ['longest call', ({ longestCallMs }) => seconds(longestCallMs)],
  ['all of it', ({ tookMs }) => seconds(tookMs)],
];

/** A replay beside what was then, for a reader. */
export function compare(then: Recording, { settings, service, now }: Replayed): string {
  const share = settings.share === undefined ? '' : ` with share ${shareText(settings.share)}`;
  const both = [figuresOf(then), figuresOf(now)];
  return [
    `${counted(then.calls.length, 'call')}, recorded by version ${then.version}; plan then: ${planText(then.plan)}, now: ${planText(now.plan)}${share}`,
    `the service, as far as it shows: ${serviceText(service)}`,
    '',
    row('', ['then', 'now']),
    ...ROWS.map(([name, show]) => row(name, both.map(show))),
    '',
    'requests, and how many of them were answered 429, from',
    ...byTime(then, now),
  ].join('\n');
}

function serviceText({ plan, policy, others, failures }: Replayed['service']): string {
  if (plan === undefined) return 'no limit was met';
  const ofOthers = others.reduce((sum, { count }) => sum + count, 0);
  const own = failures.size === 0 ? '' : `${failures.size} of the failed requests counted, `;
  return `${limitsText(plan)}, counted as ${policy}, ${own}${counted(ofOthers, 'request')} of others`;
}

function shareText(share: NonNullable<Replayed['settings']['share']>): string {
  return typeof share === 'number' ? String(share) : `low:${share.low}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function planText(plan: Recording['plan']): string {
  return typeof plan === 'object' ? limitsText(plan) : plan;
}

function limitsText({ requestsPerMinute, requestsPerDay }: { requestsPerMinute: number; requestsPerDay?: number | undefined }): string {
  return `${requestsPerMinute} a minute${requestsPerDay === undefined ? '' : ` and ${requestsPerDay} a day`}`;
}

function* byTime(then: Recording, now: Recording): Generator<string> {
  const spanMs = Math.max(then.endedAtMs - then.beganAtMs, now.endedAtMs - now.beganAtMs);
  const sliceMs = SLICES_MS.find((ms) => spanMs / ms <= MOST_ROWS) ?? Math.ceil(spanMs / MOST_ROWS);
  for (let fromMs = 0; fromMs <= spanMs; fromMs += sliceMs) {
    const cells = [then, now].map((recording) => sentWithin(recording, fromMs, fromMs + sliceMs));
    if (cells.some((cell) => cell !== '')) yield row(`  ${seconds(fromMs)}`, cells);
  }
}

function sentWithin({ requests, beganAtMs }: Recording, fromMs: number, toMs: number): string {
  const sent = requests.filter(({ atMs }) => atMs - beganAtMs >= fromMs && atMs - beganAtMs < toMs);
  const refused = sent.filter(({ status }) => status === 429).length;
  if (sent.length === 0) return '';
  return refused === 0 ? String(sent.length) : `${sent.length} (${refused})`;
}

function row(name: string, cells: readonly string[]): string {
  return `${name.padEnd(24)}${cells.map((cell) => cell.padStart(14)).join('')}`.trimEnd();
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}
