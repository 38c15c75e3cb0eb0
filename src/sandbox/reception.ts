import type { Context, MiddlewareHandler } from 'hono';
import { RETRY_AFTER_HEADER } from '../contract/http.ts';
import { jsonAnswer, refuse } from './answers.ts';
import type { SandboxClock } from './clock.ts';
import type { ToldLimit } from './count.ts';
import type { Failure } from './fault.ts';
import { type Faults, type Mishap, nameMishap } from './faults.ts';
import type { Keyring } from './keyring.ts';
import { drawLatency, type Latency } from './latency.ts';
import type { Ledger, SandboxRequest } from './ledger.ts';
import { type LimitHeaders, writeLimitHeaders } from './limit-headers.ts';
import type { Counting, Meter, Verdict } from './meter.ts';
import type { Random } from './random.ts';
import { type RetryAfterForm, readRetryAfter, retryAfterValue } from './retry-after.ts';
import { parsePetId } from './stock.ts';

/** What Hono's context holds for a request. */
export interface ServiceEnv {
  Bindings: { breakOff: (failure: Failure, cause?: unknown) => void };
  Variables: { request: SandboxRequest };
}

/** What all requests of a sandbox share. */
export interface Desk {
  readonly clock: SandboxClock;
  readonly keyring: Keyring;
  readonly ledger: Ledger;
  readonly faults: Faults;
  readonly latency: Latency;
  readonly random: Random;
  readonly retryAfter: RetryAfterForm;
  readonly rateLimitBody: 'error' | 'empty';
  readonly limitHeaders: Required<LimitHeaders>;
  readonly counting: Required<Counting>;
  readonly nodes: readonly number[];
  readonly date: DateHeader | false;
}

/**
 * The difference between the `Date` header and the clock by which the service counts.
 *
 * @example
 * const date: DateHeader = { aheadMs: -1_500 };
 * const late = createSandbox({ date });
 */
export interface DateHeader {
  /** By how many milliseconds the header is ahead, at most 1e13; behind, if negative. */
  aheadMs: number;
}

/** An environment and the path at which it is served. */
export interface Entrance {
  readonly environment: SandboxRequest['environment'];
  readonly basePath: string;
}

interface Arrival {
  readonly nowMs: number;
  readonly request: SandboxRequest;
  readonly verdict: Verdict | undefined;
  readonly meter: Meter;
  readonly told: ToldLimit;
}

interface Visit extends Arrival {
  readonly mishap: Mishap | undefined;
  /** By how much the clock of the node that answers is ahead. */
  readonly aheadMs: number;
}

/** The failures that break an exchange before the request is carried out. */
const NOTHING_DONE: ReadonlySet<Failure | undefined> = new Set(['reset', 'stall']);

/** Receives every request of an environment: records it, counts it, admits or refuses it, and applies faults to its answer. */
export function receive(entrance: Entrance, desk: Desk): MiddlewareHandler<ServiceEnv> {
  return async (context, next) => {
    const latencyMs = drawLatency(desk.latency, desk.random);
    // The signal is only read if needed: a server creates it on first access, which costs more than the whole answer.
    if (latencyMs > 0) await desk.clock.travel(latencyMs / 2, context.req.raw.signal);
    const arrival = arrive(context, { entrance, desk });
    const visit = meetFaults(arrival, desk);
    const early = answerEarly(context, { visit, desk });
    if (early === undefined) await next();
    else context.res = early;
    const isCountedAtOnce = desk.counting.at === 'arrival';
    if (isCountedAtOnce) finish(context, { visit, desk });
    const restMs = latencyMs / 2 + (visit.mishap?.delayMs ?? 0);
    if (restMs > 0) await desk.clock.sleep(restMs, context.req.raw.signal);
    if (!isCountedAtOnce) finish(context, { visit, desk });
    if (arrival.request.status === 429 && isHeard(context.res, visit.mishap)) startPenalty(context.res.headers, { visit, desk });
  };
}

function arrive(context: Context<ServiceEnv>, { entrance, desk }: { entrance: Entrance; desk: Desk }): Arrival {
  const nowMs = desk.clock.now();
  const known = desk.keyring.identify(context.req.header('authorization'));
  const meter = known === undefined ? desk.keyring.meterOf('free') : desk.keyring.meter(entrance.environment, known);
  const verdict = known && meter.judge(nowMs);
  const request = desk.ledger.open({
    atMs: nowMs,
    method: context.req.method,
    environment: entrance.environment,
    ...placeOf(context.req.path.slice(entrance.basePath.length)),
    key: known?.key,
    plan: known?.plan,
    duringPenalty: verdict?.duringPenalty ?? false,
  });
  if (verdict?.beginsBan) desk.ledger.noteBan();
  context.set('request', request);
  return { nowMs, request, verdict, meter, told: meter.told(nowMs, request.number) };
}

function meetFaults(arrival: Arrival, desk: Desk): Visit {
  const { request } = arrival;
  const mishap = desk.faults.draw(request);
  request.fault = mishap && nameMishap(mishap);
  return { ...arrival, mishap, aheadMs: pickNode(desk) };
}

function pickNode({ nodes, random }: Desk): number {
  return (nodes.length > 1 ? nodes[Math.floor(random() * nodes.length)] : nodes[0]) ?? 0;
}

function placeOf(path: string): Pick<SandboxRequest, 'path' | 'petId'> {
  const digits = /^\/inventory\/([^/]+)$/.exec(path)?.[1];
  return { path, petId: digits === undefined ? undefined : parsePetId(digits) };
}

function answerEarly(context: Context<ServiceEnv>, { visit, desk }: { visit: Visit; desk: Desk }): Response | undefined {
  const { mishap, verdict, request } = visit;
  if (mishap?.status !== undefined) return faultAnswer(request, { ...mishap, status: mishap.status });
  if (NOTHING_DONE.has(mishap?.fail)) return new Response(null);
  if (verdict === undefined) return unauthorized(request, context.req.header('authorization') !== undefined);
  if (verdict.kind === 'banned') return banned(request, verdict.untilMs);
  return verdict.kind === 'limited' ? rateLimited({ visit, desk, untilMs: verdict.untilMs }) : undefined;
}

function faultAnswer(request: SandboxRequest, { body, status }: { body?: string | undefined; status: number }): Response {
  const answer =
    body !== undefined || status < 400
      ? jsonAnswer(status, body ?? '')
      : refuse(request, { status, code: 'fault', message: `The sandbox was told to answer ${status}` });
  if (status === 429) answer.headers.set(RETRY_AFTER_HEADER, '1');
  return answer;
}

function unauthorized(request: SandboxRequest, hasKey: boolean): Response {
  return hasKey
    ? refuse(request, { status: 401, code: 'invalid_key', message: 'The API key is not valid' })
    : refuse(request, { status: 401, code: 'missing_key', message: 'The API key is missing: send it as a bearer token' });
}

function banned(request: SandboxRequest, untilMs: number): Response {
  const until = new Date(untilMs).toUTCString();
  return refuse(request, {
    status: 401,
    code: 'key_banned',
    message: `The API key is banned until ${until}: requests went on after a 429`,
  });
}

function rateLimited({ visit, desk, untilMs }: { visit: Visit; desk: Desk; untilMs: number }): Response {
  const message = 'The rate limit is exceeded';
  const refusal = refuse(visit.request, { status: 429, code: 'rate_limited', message });
  const answer = desk.rateLimitBody === 'empty' ? new Response(null, { status: 429 }) : refusal;
  const value = retryAfterValue(desk.retryAfter, { ...visit, untilMs });
  if (value !== undefined) answer.headers.set(RETRY_AFTER_HEADER, value);
  if (isHeard(answer, visit.mishap)) visit.meter.penalise(untilMs, visit.nowMs);
  return answer;
}

/** Whether the caller gets the headers of an answer, and so knows that it has to wait. Without a body to break, all of it is lost. */
function isHeard({ body }: Response, mishap: Mishap | undefined): boolean {
  const fail = mishap?.fail;
  return fail === undefined || fail === 'malformed' || ((fail === 'cut' || fail === 'stall-body') && body !== null);
}

/** Starts the penalty of a 429 that a fault or an endpoint of the caller's own gave, when it is handed out. The limit's own starts at the arrival. */
function startPenalty(headers: Headers, { visit, desk }: { visit: Visit; desk: Desk }): void {
  const { verdict, meter, mishap, aheadMs } = visit;
  if (verdict === undefined || (verdict.kind === 'limited' && mishap?.status === undefined)) return;
  const nowMs = desk.clock.now();
  const untilMs = readRetryAfter(headers.get(RETRY_AFTER_HEADER), { nowMs, aheadMs });
  if (untilMs !== undefined) meter.penalise(untilMs, nowMs);
}

function finish(context: Context<ServiceEnv>, { visit, desk }: { visit: Visit; desk: Desk }): void {
  const { request, mishap } = visit;
  if (mishap?.fail === 'malformed') context.res = jsonAnswer(context.res.status, '{"petId":');
  const status = NOTHING_DONE.has(mishap?.fail) ? undefined : context.res.status;
  writeHeaders(context.res.headers, { visit: settle(visit, { status, desk }), desk });
  if (mishap?.fail !== undefined && mishap.fail !== 'malformed') context.env.breakOff(mishap.fail);
  desk.ledger.settle(request, status);
}

/** Updates the count by the answer. If that changes it, the headers report the new count. */
function settle(visit: Visit, { status, desk }: { status: number | undefined; desk: Desk }): Visit {
  const { verdict, meter, nowMs: arrivedAtMs } = visit;
  const nowMs = desk.clock.now();
  if (verdict === undefined || !meter.settle(verdict, { status, arrivedAtMs, nowMs })) return visit;
  return { ...visit, nowMs, told: meter.told(nowMs, visit.request.number) };
}

/** By default, every answer reports the limit and the service's time (specification, Limits; RFC 9110 section 6.6.1). */
function writeHeaders(headers: Headers, { visit, desk }: { visit: Visit; desk: Desk }): void {
  const { told, aheadMs } = visit;
  const nowMs = visit.nowMs + aheadMs;
  const form = desk.limitHeaders;
  const isTold = form.rate === 1 || desk.random() < form.rate;
  if (isTold) writeLimitHeaders(headers, { form, told: { ...told, resetAtMs: told.resetAtMs + aheadMs }, nowMs });
  if (desk.date !== false) headers.set('date', new Date(nowMs + desk.date.aheadMs).toUTCString());
  overrideHeaders(headers, visit.mishap);
}

function overrideHeaders(headers: Headers, mishap: Mishap | undefined): void {
  for (const [name, value] of Object.entries(mishap?.headers ?? {})) {
    if (value === null) headers.delete(name);
    else headers.set(name, value);
  }
}
