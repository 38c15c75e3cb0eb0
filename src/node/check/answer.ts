import { INVENTORY_PATH, RATE_LIMIT_HEADERS, saysBanned, VERSION_SEGMENT } from '../../contract/http.ts';
import { type Answer, readAnswer } from '../../contract/limits.ts';
import { ErrorBody, InventoryItem } from '../../contract/models.ts';
import { PLANS, type PlanLimits } from '../../contract/plans.ts';
import { duration } from '../../duration.ts';
import { ConnectionError, isPetStoreError, type PetStoreError, TimeoutError } from '../../errors.ts';
import { NOT_JSON, parseExactly, parseJson } from '../../json/parse-json.ts';
import type { TextCleaner } from '../../redactor.ts';
import { type Finding, GUIDES } from './finding.ts';
import { PATIENCE_MS } from './patience.ts';

/** Enough characters to distinguish a list from another page. */
const READ_CHARACTERS = 65_536;
/** Enough characters of a header to recognize what is wrong with it. */
const SHOWN_HEADER = 40;

const ANOTHER_SITE = { advice: 'check the address; a login page, a proxy or another site may have answered', see: GUIDES.proxy } as const;

/** A client's plan: its name, its limits, or `learned`. */
export type Plan = string | PlanLimits;

interface AnswerContext {
  address: string;
  receivedAtMs: number;
  redactor: TextCleaner;
}

/** Checks the status and the body: whether the service answered, and whether it accepts the key. */
export async function judgeAnswer(response: Response, context: AnswerContext): Promise<Finding> {
  const { status } = response;
  const { receivedAtMs, redactor } = context;
  if (status >= 300 && status < 400) return redirected(response, context);
  const text = await beginningOf(response).catch(failureOf);
  if (status >= 200 && status < 300) return typeof text === 'string' ? judgeList(response, { text, redactor }) : unreadable(response, text);
  return refused(readAnswer(status, response.headers, receivedAtMs), typeof text === 'string' ? errorOf(text, redactor) : text);
}

/** The status counts, whatever became of the body. */
function refused({ status, receivedAtMs, retryAfterMs }: Answer, said: ErrorBody | PetStoreError | undefined): Finding {
  const isErrorBody = said !== undefined && !isPetStoreError(said);
  const message = `the service answered ${status}${detailOf(said)}`;
  const facts = { status, code: said?.code };
  const finding = { check: 'answer', outcome: 'problem', message, ...adviceFor(status, isErrorBody), facts } as const;
  if (retryAfterMs === undefined)
    return status === 401 && saysBanned(message) ? { ...finding, advice: 'try again when the ban is over' } : finding;
  const until = new Date(receivedAtMs + retryAfterMs).toISOString();
  return { ...finding, message: `${message} (wait until ${until})`, advice: 'try again then' };
}

function detailOf(said: ErrorBody | PetStoreError | undefined): string {
  if (said === undefined) return ' without an Error body';
  return isPetStoreError(said) ? `, but its body could not be read: ${said.message}` : ` ${said.code}: ${said.message}`;
}

/** Anything but the client's own failure is the reason of an abort, which ends the check. */
function failureOf(error: unknown): PetStoreError {
  if (isPetStoreError(error)) return error;
  throw error;
}

function unreadable({ status }: Response, { message: why, code }: PetStoreError): Finding {
  const message = `it answered ${status}, but its body could not be read: ${why}`;
  const advice = 'try again later; a proxy may cut or change answers';
  return { check: 'answer', outcome: 'problem', message, advice, see: GUIDES.connection, facts: { status, code } };
}

async function redirected({ status, headers, body }: Response, { address, redactor }: AnswerContext): Promise<Finding> {
  await body?.cancel();
  // Hidden first, since a part of the key may look like a query.
  const url = URL.parse(redactor.clean(headers.get('location') ?? ''), address);
  const to = url ? redactor.clean(`${url.origin}${url.pathname}`) : 'nowhere';
  const message = `it redirects (${status}) to ${to}, which is not followed, since the key would go there`;
  // A login page elsewhere is not to get the key.
  const isMoved = to.endsWith(`/${VERSION_SEGMENT}/${INVENTORY_PATH}`);
  const why = isMoved ? { advice: 'use the new address, up to /v1, instead of the old one', see: GUIDES.redirect } : ANOTHER_SITE;
  return { check: 'answer', outcome: 'problem', message, ...why, facts: { status, location: to } };
}

function judgeList({ status, headers }: Response, { text, redactor }: { text: string; redactor: TextCleaner }): Finding {
  const type = redactor.clean(headers.get('content-type') ?? '').replace(/[^\w/+.*-].*/s, '') || 'no content type';
  if (!isBeginningOfList(text)) {
    const message = `it answered ${status}, with ${type} that is not a list of the inventory`;
    return { check: 'answer', outcome: 'problem', message, ...ANOTHER_SITE, facts: { status, type } };
  }
  const part = parseJson(text) === NOT_JSON ? ', as far as read' : '';
  return { check: 'answer', outcome: 'ok', message: `it answered ${status} with a list of the inventory${part}`, facts: { status, type } };
}

/** The first item of a list, if it ends within the text and contains no objects; a brace may be within a string. */
const FIRST_ITEM = /^\s*\[\s*(\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\})/;

/** Whether a text begins like a list of the inventory: empty, or with a valid first item. An item with nested objects is not checked. */
function isBeginningOfList(text: string): boolean {
  const item = FIRST_ITEM.exec(text)?.[1];
  return item === undefined ? /^\s*\[\s*[\]{]/.test(text) : InventoryItem.safeParse(parseJson(item) && parseExactly(item)).success;
}

function errorOf(text: string, redactor: TextCleaner): ErrorBody | undefined {
  const { data: body } = ErrorBody.safeParse(parseJson(text));
  return body && { ...body, code: redactor.clean(body.code), message: redactor.clean(body.message) };
}

/** The advice about a status outside 2xx and 3xx. */
export function adviceFor(status: number, isErrorBody: boolean): Pick<Finding, 'advice' | 'see'> {
  if (status === 401) return { advice: 'the key is not one of this environment, or is banned for a while', see: GUIDES.key };
  if (status === 404) return { advice: 'check the address: the list exists even if there are no pets', see: GUIDES.removed };
  if (status === 407) return { advice: 'a proxy in between wants a user and a password', see: GUIDES.proxy };
  if (status === 429) return { advice: 'try again later', see: GUIDES.quota };
  // Answered by the network in place of the service (RFC 6585 section 6).
  if (status === 511) return { advice: 'log in to the network with a browser', see: GUIDES.proxy };
  if (status >= 500) return { advice: 'the service failed: try again later' };
  return isErrorBody ? {} : { advice: 'a proxy or firewall in between may have answered', see: GUIDES.proxy };
}

/** Each chunk starts the client's time limit again, so a body that comes a few bytes at a time is left as soon as it can be judged. */
async function beginningOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let lateAtMs: number | undefined;
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    lateAtMs ??= performance.now() + PATIENCE_MS;
    const isLate = performance.now() >= lateAtMs;
    if (text.length >= READ_CHARACTERS || (isLate && isBeginningOfList(text))) return text;
    if (isLate) throw new TimeoutError(`only ${text.length} characters came within ${duration(PATIENCE_MS)}`);
  }
  if (isBeginningOfList(text) && parseJson(text) === NOT_JSON) throw new ConnectionError('it is not valid JSON');
  return text;
}

interface Received {
  plan: Plan;
  receivedAtMs: number;
  redactor: TextCleaner;
}

/** Checks the X-RateLimit headers, which every answer of the service carries (specification, Limits). */
export function judgeLimits({ status, headers }: Response, { plan, receivedAtMs, redactor }: Received): Finding {
  const { limit, remaining, resetInMs, resetAtMs: reset = resetInMs } = readAnswer(status, headers, receivedAtMs);
  const read = { [RATE_LIMIT_HEADERS.limit]: limit, [RATE_LIMIT_HEADERS.remaining]: remaining, [RATE_LIMIT_HEADERS.reset]: reset };
  const lacking = Object.entries(read).flatMap(([name, value]) =>
    value === undefined ? [describeLack(name, headers.get(name), redactor)] : [],
  );
  const facts = { limit, remaining, lacking };
  if (lacking.length === 0) return { check: 'limits', outcome: 'ok', message: `${remaining} of ${limit} requests are left`, facts };
  const message = `in the headers of the limits, ${lacking.join(', ')}`;
  const advice = plan === 'learned' ? 'give the plan: without it and these headers, free is assumed' : 'a proxy may drop them';
  return { check: 'limits', outcome: plan === 'learned' ? 'problem' : 'note', message, advice, see: GUIDES.limits, facts };
}

function describeLack(name: string, value: string | null, redactor: TextCleaner): string {
  return value === null ? `${name} is missing` : `${name} is not valid (${redactor.clean(value, SHOWN_HEADER)})`;
}

/** Compares the given plan with the limit that the service reports. */
export function judgePlan(headers: Headers, plan: Plan): Finding {
  const limits = limitsOf(plan);
  const told = Number(headers.get(RATE_LIMIT_HEADERS.limit)) || undefined;
  const facts = { plan, limit: told };
  if (limits === undefined) {
    const message =
      plan === 'unlimited' ? 'unlimited, whatever the service says' : 'none given: it is learned from the headers, free until then';
    return { check: 'plan', outcome: 'ok', message, facts };
  }
  const { requestsPerMinute: minute, requestsPerDay: day } = limits;
  const given = `${typeof plan === 'string' ? plan : 'custom'}, ${minute} requests a minute${day === undefined ? '' : ` and ${day} a day`}`;
  if (told === undefined || told === minute || told === day) return { check: 'plan', outcome: 'ok', message: given, facts };
  const isLess = told < minute;
  const message = `${given}, but the service says ${told}`;
  const advice = isLess ? 'give the plan of this key: the smaller limit counts' : 'give a larger plan: this one slows the client down';
  return { check: 'plan', outcome: isLess ? 'problem' : 'note', message, advice, see: GUIDES.limits, facts };
}

function limitsOf(plan: Plan): PlanLimits | undefined {
  if (typeof plan !== 'string') return plan;
  return Object.entries(PLANS).find(([name]) => name === plan)?.[1];
}

/** A smaller difference is not a finding: `Date` has whole seconds, and an answer takes time. */
const SAME_TIME_MS = 2_500;
/** The length of a window: with a larger difference, a Reset without `Date` is useless. */
const FAR_APART_MS = 60_000;

/** Compares the clock of this machine with that of the service. */
export function judgeClock({ status, headers }: Response, receivedAtMs: number): Finding {
  const { dateMs } = readAnswer(status, headers, receivedAtMs);
  if (dateMs === undefined) {
    const message = 'the answer has no valid `Date`: resets are read by the clock of this machine';
    return { check: 'clock', outcome: 'note', message, advice: 'synchronise the clock of this machine', see: GUIDES.clock };
  }
  const offsetMs = receivedAtMs - dateMs;
  const apartMs = Math.abs(offsetMs);
  if (apartMs <= SAME_TIME_MS) return { check: 'clock', outcome: 'ok', message: 'as that of the service', facts: { offsetMs } };
  // Beyond an hour, `duration` rounds up to whole minutes, and the second of the answer's way would be one.
  const shownMs = apartMs > 3_600_000 ? Math.round(apartMs / 60_000) * 60_000 : apartMs;
  const message = `this machine is ${duration(shownMs)} ${offsetMs > 0 ? 'ahead of' : 'behind'} the service, which is allowed for`;
  const isFar = apartMs > FAR_APART_MS;
  const advice = 'set the clock of this machine, unless it is right';
  return { check: 'clock', outcome: isFar ? 'problem' : 'note', message, advice, see: GUIDES.clock, facts: { offsetMs } };
}
