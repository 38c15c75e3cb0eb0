import type { Call, OwnRequest } from '../call.ts';
import type { PetId } from '../contract/models.ts';
import {
  type FailureDetails,
  InvalidResponseError,
  type InvalidResponseReason,
  type OperationName,
  type PetStoreError,
  type Problem,
} from '../errors.ts';
import { BadRows, failureAt } from '../json/failure.ts';
import { loadPart } from '../load-part.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';
import type { AttemptRequest } from '../transport/transport.ts';

/** A request to the service, and how to read its answer. */
export interface Operation<T> {
  name: OperationName;
  /** The pet that the request changes; updates of one pet keep their order. */
  petId?: PetId;
  request: AttemptRequest;
  /** Reads the body of a 2xx answer. Rejects with an InvalidResponseError if it is not as the specification promises. */
  read(answer: OpenAnswer, call: Call): T | Promise<T>;
}

/** A body that can still be read after its call has ended, until the client is closed. */
export interface UnreadBody {
  clientClosed(reason: unknown): void;
}

/** To be called when a call ends. */
export type OnEnd = (failed?: { error: unknown }, unread?: UnreadBody) => void;

/** An operation whose answer is still being read when the call resolves. `read` has to call `onEnd` when that is over. */
export interface StreamOperation<T> extends Omit<Operation<T>, 'read' | 'petId'> {
  /** For a request that the caller composed. */
  own?: OwnRequest;
  /** Completes `request` before the first attempt; undefined if it is complete. Rejects with the reason of an abort. */
  prepare?(call: Call): Promise<void> | undefined;
  /** The value with which the call resolves although it ended with this failure; undefined if it rejects. */
  instead?(failure: unknown): T | undefined;
  read(answer: OpenAnswer, call: Call, onEnd: OnEnd): Promise<T>;
}

export interface Fault {
  reason: InvalidResponseReason;
  problems: readonly Problem[] | BadRows;
  /** The text is valid so far; only its end is missing. */
  isCut?: boolean;
  /** The body, where `isCut` is not known yet. */
  body?: Body;
}

interface Body {
  bytes: Uint8Array;
  document: 'list' | 'item';
}

/**
 * The error of an answer that does not match. The message contains the first problem, `problems` all of them.
 * Where the runtime may take a cut body for a complete one, a missing end means a broken connection.
 */
export async function invalidResponse(
  call: Call,
  answer: OpenAnswer,
  { reason, problems: found, isCut = false, body }: Fault,
): Promise<PetStoreError> {
  if (answer.mayBeCut && (isCut || (body && (await endsTooEarly(body))))) return answer.cutOff();
  const problems = found instanceof BadRows ? await judge(found, call) : found;
  const { status } = answer;
  const details: FailureDetails = { ...call.details(), status, code: 'invalid_response' };
  const but = reason === 'invalid-json' ? butOtherType(answer) : '';
  const message = `Cannot ${call.purpose}: the service answered ${status} with a body that ${describe(problems)}${but}`;
  return new InvalidResponseError(message, { ...details, reason, problems });
}

/** Whether a body is cut. A page that cannot load the check has lost its connection, so the body counts as cut. */
async function endsTooEarly({ bytes, document }: Body): Promise<boolean> {
  const loaded = await import('../json/is-beginning.ts').catch(() => undefined);
  return loaded?.isBeginning(bytes, document) ?? true;
}

async function judge(rows: BadRows, call: Call): Promise<readonly Problem[]> {
  const { problemsOf } = await loadPart('zod', call, import('../json/problems.ts'));
  return problemsOf(rows);
}

function describe([first, ...others]: readonly Problem[]): string {
  if (!first) return 'does not match the specification';
  const where = first.path === '' ? first.message : `does not match: ${first.path} ${first.message}`;
  return others.length === 0 ? where : `${where} (and ${others.length} more)`;
}

/** The content type, if it is not JSON: for the page of a proxy, it says more than that the body is not JSON. */
function butOtherType(answer: OpenAnswer): string {
  const type = answer.headers.get('content-type');
  return type && !/json/i.test(type) ? ` but ${answer.clean(type)}` : '';
}

/** The fault of a body that is not UTF-8. */
export const NOT_UTF8 = failureAt('', 'invalid-utf8', 'is not UTF-8');

const BODY_DECODER = new TextDecoder('utf-8', { fatal: true });

/** Decodes a whole body; undefined if it is not UTF-8 (RFC 8259 section 8.1). */
export function decode(bytes: Uint8Array): string | undefined {
  try {
    return BODY_DECODER.decode(bytes);
  } catch {
    return undefined;
  }
}
