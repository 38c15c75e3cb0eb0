import type { Context, MiddlewareHandler } from 'hono';
import { RETRY_AFTER_HEADER } from '../contract/http.ts';
import { jsonAnswer, refuse } from './answers.ts';
import type { SandboxClock } from './clock.ts';
import type { ToldLimit } from './count.ts';
import type { Domains } from './domains.ts';
import { BASE_PATHS, type Environment } from './environments.ts';
import { type Failure, type Faults, type Mishap, nameMishap } from './faults.ts';
import type { Keyring } from './keyring.ts';
import { drawLatency } from './latency.ts';
import type { Ledger, SandboxRequest } from './ledger.ts';
import { writeLimitHeaders } from './limit-headers.ts';
import type { Meter, Verdict } from './meter.ts';
import type { Rules } from './options.ts';
import type { Random } from './random.ts';
import { readRetryAfter, writeRetryAfter } from './retry-after.ts';
import { parsePetId, type Stock } from './stock.ts';

/** What Hono's context holds for a request. */
export interface ServiceEnv {
  Bindings: { breakOff: (failure: Failure, cause?: unknown) => void };
  Variables: { request: SandboxRequest };
}

/** What all requests of a sandbox share. */
export interface Desk {
  readonly rules: Rules;
  readonly clock: SandboxClock;
  readonly random: Random;
  readonly faults: Faults;
  readonly keyring: Keyring;
  readonly ledger: Ledger;
  readonly domains: Domains;
  readonly stocks: Readonly<Record<Environment, Stock>>;
}

/** One request at the desk. */
interface Visit {
  readonly desk: Desk;
  /** When the request was counted: at its arrival, or when its answer leaves. */
  readonly nowMs: number;
  readonly request: SandboxRequest;
  /** Undefined without a valid key. */
  readonly verdict: Verdict | undefined;
  readonly meter: Meter;
  readonly told: ToldLimit;
  readonly mishap: Mishap | undefined;
  /** By how much the clock of the node that answers is ahead. */
  readonly aheadMs: number;
}

/** The failures that break an exchange before the request is carried out. */
const NOTHING_DONE: ReadonlySet<Failure | undefined> = new Set(['reset', 'stall']);

/** Receives every request of an environment: records it, counts it, admits or refuses it, and applies faults to its answer. */
export function receive(environment: Environment, desk: Desk): MiddlewareHandler<ServiceEnv> {
  const { rules, clock, random } = desk;
  return async (context, next) => {
    const latencyMs = drawLatency(rules.latency, random);
    // The signal is only read if needed: a server creates it on first access, which costs more than the whole answer.
    if (latencyMs > 0) await clock.travel(latencyMs / 2, context.req.raw.signal);
    const visit = arrive(context, { environment, desk });
    const early = answerEarly(context, visit);
    if (early === undefined) await next();
    else context.res = early;
    const isCountedAtOnce = rules.counting.at === 'arrival';
    if (isCountedAtOnce) finish(context, visit);
    const restMs = latencyMs / 2 + (visit.mishap?.delayMs ?? 0);
    if (restMs > 0) await clock.sleep(restMs, context.req.raw.signal);
    if (!isCountedAtOnce) finish(context, visit);
    if (visit.request.status === 429 && isHeard(context.res, visit.mishap)) startPenalty(visit, context.res.headers);
  };
}

function arrive(context: Context<ServiceEnv>, { environment, desk }: { environment: Environment; desk: Desk }): Visit {
  const { clock, keyring, ledger, faults } = desk;
  const nowMs = clock.now();
  const known = keyring.identify(context.req.header('authorization'));
  const meter = known === undefined ? keyring.meterOf('free') : keyring.meter(environment, known);
  const verdict = known && meter.judge(nowMs);
  const request = ledger.open({
    atMs: nowMs,
    method: context.req.method,
    environment,
    ...placeOf(context.req.path.slice(BASE_PATHS[environment].length)),
    key: known?.key,
    plan: known?.plan,
    duringPenalty: verdict?.duringPenalty ?? false,
  });
  if (verdict?.beginsBan) ledger.noteBan();
  context.set('request', request);
  const told = meter.told(nowMs, request.number);
  const mishap = faults.draw(request);
  request.fault = mishap && nameMishap(mishap);
  return { desk, nowMs, request, verdict, meter, told, mishap, aheadMs: pickNode(desk) };
}

function pickNode({ rules: { nodes }, random }: Desk): number {
  return (nodes.length > 1 ? nodes[Math.floor(random() * nodes.length)] : nodes[0]) ?? 0;
}

function placeOf(path: string): Pick<SandboxRequest, 'path' | 'petId'> {
  const digits = /^\/inventory\/([^/]+)$/.exec(path)?.[1];
  return { path, petId: digits === undefined ? undefined : parsePetId(digits) };
}

function answerEarly(context: Context<ServiceEnv>, visit: Visit): Response | undefined {
  const { mishap, verdict, request } = visit;
  if (mishap?.status !== undefined) return faultAnswer(request, { ...mishap, status: mishap.status });
  if (NOTHING_DONE.has(mishap?.fail)) return new Response(null);
  if (verdict === undefined) return unauthorized(request, context.req.header('authorization') !== undefined);
  if (verdict.kind === 'banned') return banned(request, verdict.opensAtMs);
  return verdict.kind === 'limited' ? rateLimited(visit, verdict.opensAtMs) : undefined;
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

function rateLimited({ desk: { rules }, request, meter, mishap, nowMs, aheadMs }: Visit, opensAtMs: number): Response {
  const refusal = refuse(request, { status: 429, code: 'rate_limited', message: 'The rate limit is exceeded' });
  const answer = rules.rateLimitBody === 'empty' ? new Response(null, { status: 429 }) : refusal;
  const wait = writeRetryAfter(rules.retryAfter, { opensAtMs, nowMs, aheadMs });
  if (wait !== undefined) answer.headers.set(RETRY_AFTER_HEADER, wait);
  setOwn(answer.headers, mishap);
  const told = readRetryAfter(answer.headers.get(RETRY_AFTER_HEADER), { nowMs, aheadMs });
  if (isHeard(answer, mishap)) meter.penalise(told ?? opensAtMs, nowMs);
  return answer;
}

/** Whether the caller gets the headers of an answer, and so knows that it has to wait. Without a body to break, all of it is lost. */
function isHeard({ body }: Response, mishap: Mishap | undefined): boolean {
  const fail = mishap?.fail;
  return fail === undefined || fail === 'malformed' || ((fail === 'cut' || fail === 'stall-body') && body !== null);
}

/** Starts the penalty of a 429 that a fault or an endpoint of the caller's own gave, when it is handed out. The limit's own starts at the arrival. */
function startPenalty({ desk, verdict, meter, mishap, aheadMs }: Visit, headers: Headers): void {
  if (verdict === undefined || (verdict.kind === 'limited' && mishap?.status === undefined)) return;
  const nowMs = desk.clock.now();
  const untilMs = readRetryAfter(headers.get(RETRY_AFTER_HEADER), { nowMs, aheadMs });
  if (untilMs !== undefined) meter.penalise(untilMs, nowMs);
}

function finish(context: Context<ServiceEnv>, visit: Visit): void {
  const { desk, request, mishap } = visit;
  if (mishap?.fail === 'malformed') context.res = jsonAnswer(context.res.status, '{"petId":');
  const status = NOTHING_DONE.has(mishap?.fail) ? undefined : context.res.status;
  writeHeaders(context.res.headers, settle(visit, status));
  if (mishap?.fail !== undefined && mishap.fail !== 'malformed') context.env.breakOff(mishap.fail);
  desk.ledger.settle(request, status);
}

/** Updates the count by the answer. If that changes it, the headers report the new count. */
function settle(visit: Visit, status: number | undefined): Visit {
  const { desk, verdict, meter, request, nowMs: arrivedAtMs } = visit;
  const nowMs = desk.clock.now();
  if (verdict === undefined || !meter.settle(verdict, { status, arrivedAtMs, nowMs })) return visit;
  return { ...visit, nowMs, told: meter.told(nowMs, request.number) };
}

/** By default, every answer reports the limit and the service's time (specification, Limits; RFC 9110 section 6.6.1). */
function writeHeaders(headers: Headers, { desk, told, aheadMs, mishap, ...visit }: Visit): void {
  const { limitHeaders: form, date } = desk.rules;
  const nowMs = visit.nowMs + aheadMs;
  const isTold = form.rate === 1 || desk.random() < form.rate;
  if (isTold) writeLimitHeaders(headers, { form, told: { ...told, resetAtMs: told.resetAtMs + aheadMs }, nowMs });
  if (date !== false) headers.set('date', new Date(nowMs + date.aheadMs).toUTCString());
  setOwn(headers, mishap);
}

/** Sets and removes the headers that a fault names. */
function setOwn(headers: Headers, mishap: Mishap | undefined): void {
  for (const [name, value] of Object.entries(mishap?.headers ?? {})) {
    if (value === null) headers.delete(name);
    else headers.set(name, value);
  }
}
