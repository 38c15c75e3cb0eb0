import type { PetStoreClientOptions, RequestOptions } from 'petstore-inventory';
import { isFailure } from './failures.ts';
import type { RecordedCall, RecordedRequest, Recording } from './recording.ts';

/** Of a client whose waits were shorter, and who refused none. */
const USUAL_MAX_WAIT_MS = 120_000;
/** Retry-After and Reset are whole seconds, so a wait of the replay may be this much shorter than it was. */
const ROUNDING_MS = 2_000;

/** The settings of a client and of its calls, as far as a recording shows them. */
export interface Shown {
  readonly client: Pick<PetStoreClientOptions, 'maxWaitMs' | 'attemptTimeoutMs' | 'latestOnly'>;
  readonly ofCall: (call: RecordedCall) => Pick<RequestOptions, 'maxRetries' | 'maxWaitMs'>;
}

/** Finds the settings with which calls are given up when they were. */
export function settingsShownBy({ calls, requests }: Recording): Shown {
  const timeouts = requests.filter(({ status = 200, kind }) => status === 200 && kind === 'timeout').map(({ failedMs = 0 }) => failedMs);
  const isLatestOnly = calls.some(({ settled }) => settled?.outcome === 'superseded');
  const waits = waitsOf(calls);
  const client = {
    maxWaitMs: waits.maxWaitMs,
    ...(timeouts.length > 0 && { attemptTimeoutMs: Math.max(1, ...timeouts) }),
    ...(isLatestOnly && { latestOnly: true }),
  };
  return { client, ofCall: (call) => ({ maxWaitMs: waits.ofCall(call), ...(isNotRetried(call) && { maxRetries: call.retries }) }) };
}

/** Whether a call of `fetch` cannot have been a GET: it failed in a way after which a GET is sent again, and was not. */
export function isPost(call: RecordedCall): boolean {
  return call.operation === 'fetch' && isNotRetried(call) && call.requests.slice(0, -1).every(({ status }) => status === 429);
}

/** The shortest wait that was refused is an upper bound of `maxWaitMs`; a call that waited longer had an option of its own. */
function waitsOf(calls: readonly RecordedCall[]): { maxWaitMs: number; ofCall: (call: RecordedCall) => number } {
  const most = (waits: readonly number[]) => waits.reduce((longest, ms) => Math.max(longest, ms), 0);
  const waits = calls.map(({ longestWaitMs }) => longestWaitMs);
  const patientMs = Math.max(USUAL_MAX_WAIT_MS, most(waits));
  const refused = calls.flatMap((call) => (isRefused(call) ? (call.refusedWaitMs ?? []) : []));
  const refusedMs = refused.reduce((least, ms) => Math.min(least, ms), Number.POSITIVE_INFINITY);
  const allowedMs = most(waits.filter((ms) => ms < refusedMs));
  const boundMs = Math.max((allowedMs + refusedMs) / 2, refusedMs - ROUNDING_MS);
  const maxWaitMs = Math.min(patientMs, boundMs);
  const ofCall = (call: RecordedCall) => {
    if (isRefused(call)) return refused.length > 0 ? maxWaitMs : allowedMs;
    return call.longestWaitMs < refusedMs ? maxWaitMs : patientMs;
  };
  return { maxWaitMs, ofCall };
}

/** Whether a call ended because the wait before its first attempt, or before another one, was too long for it. */
function isRefused({ settled, requests, retries, longestWaitMs, refusedWaitMs = 0 }: RecordedCall): boolean {
  if (settled?.kind !== 'rate-limit') return false;
  return requests.length === retries || (requests.at(-1)?.status === 429 && refusedWaitMs > longestWaitMs);
}

/** Whether the last attempt of a call failed in a way after which another one is possible, and none came. */
function isNotRetried(call: RecordedCall): boolean {
  const { settled, requests, retries } = call;
  const last = requests.at(-1);
  if (settled?.kind === undefined || settled.kind === 'abort' || last === undefined || isRefused(call)) return false;
  return requests.length > retries && isRetryable(last);
}

function isRetryable(request: RecordedRequest): boolean {
  const { status, kind } = request;
  return isFailure(request) || status === 429 || (status === 200 && (kind === 'connection' || kind === 'timeout'));
}
