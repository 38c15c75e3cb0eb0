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

/** What to ask the service, and what its answer means. */
export interface Operation<T> {
  name: OperationName;
  /** The pet that it changes; updates of one pet keep their order. */
  petId?: PetId;
  request: AttemptRequest;
  /** Reads the body of a 2xx answer. Rejects with an InvalidResponseError where it is not what the specification promises. */
  read(answer: OpenAnswer, call: Call): Promise<T>;
}

/** An operation whose answer is read while its items are used; `onEnd` is to be called when that is over. */
export interface StreamOperation<T> extends Omit<Operation<T>, 'read' | 'petId'> {
  /** Of a request that the caller made. */
  own?: OwnRequest;
  /** What the call gives where it ends with this failure, if it does not reject. */
  instead?(failure: unknown): T | undefined;
  read(answer: OpenAnswer, call: Call, onEnd: (failed?: { error: unknown }) => void): Promise<T>;
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

/** Loads the reader of long lists and streams. Most lists are short and parsed as one text, without it. */
export function loadReader(call: Call): Promise<typeof import('../json/item-reader.ts')> {
  return loadPart('the reader of long lists', call, import('../json/item-reader.ts'));
}

/**
 * The error of an answer that does not match: the first problem is in the message, the others in `problems`.
 * Runtimes take a compressed stream that was cut for a whole one, so that this is how a broken connection shows itself there.
 */
export async function invalidResponse(
  call: Call,
  answer: OpenAnswer,
  { reason, problems: found, isCut = false, body }: Fault,
): Promise<PetStoreError> {
  if (answer.isCompressed && (isCut || (body && (await endsTooEarly(body))))) return answer.cutOff();
  const problems = found instanceof BadRows ? await judge(found, call) : found;
  const { status } = answer;
  const details: FailureDetails = { ...call.details(), status, code: 'invalid_response' };
  const but = reason === 'invalid-json' ? butOtherType(answer) : '';
  const message = `Cannot ${call.purpose}: the service answered ${status} with a body that ${describe(problems)}${but}`;
  return new InvalidResponseError(message, { ...details, reason, problems });
}

/** Loads what can tell. A page that cannot load it has lost its connection, so the body counts as cut. */
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

/** Of a page that some proxy gave in place of an answer, its type says more than that it is no JSON. */
function butOtherType(answer: OpenAnswer): string {
  const type = answer.headers.get('content-type');
  return type && !/json/i.test(type) ? ` but ${answer.clean(type)}` : '';
}

/** The fault of a body that is not UTF-8. */
export const NOT_UTF8 = failureAt('', 'invalid-utf8', 'is not UTF-8');

const BODY_DECODER = new TextDecoder('utf-8', { fatal: true });

/** Decodes a whole body; undefined where it is not UTF-8 (RFC 8259 section 8.1). */
export function decode(bytes: Uint8Array): string | undefined {
  try {
    return BODY_DECODER.decode(bytes);
  } catch {
    return undefined;
  }
}
