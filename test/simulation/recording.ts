import * as z from 'zod/mini';
import { parseJson } from '../../src/json/parse-json.ts';
import { Batches } from './batches.ts';

/** Dates are whole seconds; clocks that differ by more are taken to differ. */
const CLOCK_TOLERANCE_MS = 2_000;
const FORMAT = 'petstore-recording/1';
const OPERATIONS = ['listInventory', 'streamInventory', 'updateInventory', 'fetch'] as const;

const perMinute = { requestsPerMinute: z.number() };
const limits = z.union([z.object({ ...perMinute, requestsPerDay: z.number() }), z.object(perMinute)]);
const First = z.object({
  format: z.literal(FORMAT),
  version: z.string(),
  plan: z.union([z.enum(['free', 'pro', 'business', 'unlimited', 'learned']), limits]),
  atMs: z.number(),
});
const ofCall = { atMs: z.number(), call: z.number() };
const failure = { kind: z.optional(z.string()), retryAfterMs: z.optional(z.number()) };
const rateLimit = z.object({ limit: z.number(), remaining: z.number(), resetAtMs: z.number() });
const Line = z.discriminatedUnion('event', [
  z.object({ ...ofCall, event: z.literal('started'), operation: z.enum(OPERATIONS), pet: z.optional(z.number()) }),
  z.object({ ...ofCall, event: z.literal('request') }),
  z.object({
    ...ofCall,
    event: z.literal('response'),
    status: z.number(),
    ms: z.number(),
    dateMs: z.optional(z.number()),
    rateLimit: z.optional(rateLimit),
  }),
  z.object({ ...ofCall, event: z.literal('retry'), ...failure }),
  z.object({ ...ofCall, event: z.literal('wait'), reason: z.string(), ms: z.number() }),
  z.object({ ...ofCall, event: z.literal('gate'), state: z.string(), untilMs: z.optional(z.number()) }),
  z.object({ ...ofCall, event: z.literal('settled'), outcome: z.string(), ms: z.number(), ...failure }),
]);
type Line = z.infer<typeof Line>;
export type StartedLine = Extract<Line, { event: 'started' }>;

/** One request of a recorded client, and what became of it. */
export interface RecordedRequest {
  readonly atMs: number;
  readonly call: RecordedCall;
  /** Undefined where no answer came. */
  status: number | undefined;
  /** How long its headers took, or until it failed. */
  ms: number | undefined;
  dateMs: number | undefined;
  rateLimit: z.infer<typeof rateLimit> | undefined;
  retryAfterMs: number | undefined;
  /** How long it took until it failed, which is later than its headers where its body broke. */
  failedMs: number | undefined;
  /** The kind of the failure, where it failed. */
  kind: string | undefined;
}

/** One call of a recorded client. */
export interface RecordedCall {
  readonly number: number;
  readonly operation: (typeof OPERATIONS)[number];
  readonly pet: number | undefined;
  readonly atMs: number;
  /** The calls whose ends it seems to have waited for. */
  readonly after: readonly RecordedCall[];
  readonly requests: RecordedRequest[];
  /** How many of its attempts were followed by another. */
  retries: number;
  /** Of its waits at the gate. */
  longestWaitMs: number;
  /** How long it would have had to wait when it was settled, as far as answers before it show. */
  refusedWaitMs: number | undefined;
  settled: Extract<Line, { event: 'settled' }> | undefined;
}

/** What a client did, read from its recording. */
export interface Recording {
  readonly version: string;
  readonly plan: z.infer<typeof First>['plan'];
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly calls: readonly RecordedCall[];
  readonly requests: readonly RecordedRequest[];
}

/**
 * Reads a recording. Skips a last line that is incomplete, blank lines at the end, and calls whose beginning is not in it.
 * @throws Error
 */
export function readRecording(text: string, name: string): Recording {
  const [head = '', ...rows] = text.replace(/^\uFEFF/, '').split('\n');
  const first = First.safeParse(parseJson(head));
  if (!first.success) throw new Error(`Cannot replay ${name}: its first line must say "format":"${FORMAT}", and is ${shown(head)}`);
  // What follows the last line break is nothing, or was torn.
  rows.pop();
  while (rows.at(-1)?.trim() === '') rows.pop();
  const lines = rows.map((row, index) => {
    const line = Line.safeParse(parseJson(row));
    if (!line.success) throw new Error(`Cannot replay ${name}: line ${index + 2} is none of a recording: ${shown(row)}`);
    return line.data;
  });
  const { version, plan, atMs } = first.data;
  const early = lines.findIndex((line, index) => line.atMs < (lines[index - 1]?.atMs ?? atMs));
  if (early >= 0)
    throw new Error(`Cannot replay ${name}: line ${early + 2} is earlier than the line before it: ${shown(rows[early] ?? '')}`);
  return { version, plan, beganAtMs: lines[0]?.atMs ?? atMs, endedAtMs: lines.at(-1)?.atMs ?? atMs, ...follow(lines) };
}

function shown(row: string): string {
  return row === '' ? 'empty' : JSON.stringify(row.slice(0, 80));
}

function follow(lines: readonly Line[]): Pick<Recording, 'calls' | 'requests'> {
  const calls = new Map<number, RecordedCall>();
  const requests: RecordedRequest[] = [];
  const batches = new Batches();
  let opensAtMs: number | undefined;
  for (const line of lines) {
    const call = calls.get(line.call);
    opensAtMs = opensAfter(line, opensAtMs);
    if (line.event === 'started') {
      calls.set(line.call, batches.begin(line));
    } else if (call) {
      note(call, line, requests);
      if (line.event !== 'settled') continue;
      batches.end(call);
      call.refusedWaitMs = opensAtMs === undefined || opensAtMs <= line.atMs ? undefined : opensAtMs - line.atMs;
    }
  }
  return { calls: [...calls.values()], requests };
}

/** Until when calls wait, by a closed gate or by a minute that is used up. */
function opensAfter(line: Line, opensAtMs: number | undefined): number | undefined {
  if (line.event === 'gate') return line.state === 'closed' ? line.untilMs : undefined;
  if (line.event !== 'response' || line.rateLimit?.remaining !== 0) return opensAtMs;
  const aheadMs = line.dateMs === undefined ? 0 : line.dateMs - line.atMs;
  return line.rateLimit.resetAtMs - (Math.abs(aheadMs) > CLOCK_TOLERANCE_MS ? aheadMs : 0);
}

function note(call: RecordedCall, line: Exclude<Line, { event: 'started' }>, requests: RecordedRequest[]): void {
  const request = call.requests.at(-1);
  if (line.event === 'request') {
    const sent: RecordedRequest = { atMs: line.atMs, call, ...NO_ANSWER };
    call.requests.push(sent);
    requests.push(sent);
  }
  if (line.event === 'response' && request) Object.assign(request, line, { atMs: request.atMs, call });
  if (line.event === 'retry' && request) fail(request, line);
  if (line.event === 'retry') call.retries += 1;
  if (line.event === 'wait' && isAtGate(line.reason)) call.longestWaitMs = Math.max(call.longestWaitMs, line.ms);
  if (line.event !== 'settled') return;
  call.settled = line;
  if (request && line.kind !== undefined) fail(request, line);
}

function isAtGate(reason: string): boolean {
  return reason === 'quota' || reason === 'rate-limit';
}

const NO_ANSWER = {
  status: undefined,
  ms: undefined,
  dateMs: undefined,
  rateLimit: undefined,
  retryAfterMs: undefined,
  failedMs: undefined,
  kind: undefined,
};

function fail(request: RecordedRequest, { atMs, kind, retryAfterMs }: Extract<Line, { event: 'retry' | 'settled' }>): void {
  request.kind ??= kind;
  request.retryAfterMs ??= retryAfterMs;
  request.ms ??= atMs - request.atMs;
  request.failedMs ??= atMs - request.atMs;
}
