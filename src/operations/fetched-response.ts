import type { PetStoreError } from '../errors.ts';
import type { Beginning } from '../transport/body.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';
import { FetchedBody, type Reading } from './fetched-body.ts';

/** A Response, and the failure that it stands for if the request may be sent again. */
interface Fetched {
  response: Response;
  failure?: PetStoreError;
}

/**
 * Turns an answer into a Response. The body of an answer of 400 or more is read first, so that a retry holds no connection while it
 * waits. If the body is too long for that, the answer is final.
 */
export async function readFetched({ answer, call, onEnd }: Omit<Reading, 'begun'>): Promise<Fetched> {
  // The body listens only for a later abort.
  call.signal.throwIfAborted();
  if (answer.status < 400) return { response: responseOf({ answer, call, onEnd }) };
  const { failure, begun } = await answer.readFailure(call);
  if (begun.end !== 'cut') return { response: readResponseOf(answer, begun), failure };
  return { response: responseOf({ answer, call, begun: begun.bytes, onEnd: (_, unread) => onEnd({ error: failure }, unread) }) };
}

/** The answer as a Response. Its body is only read when the caller asks for it, never ahead. */
function responseOf(reading: Reading): Response {
  const { response } = reading.answer;
  if (response.body === null || BODILESS.has(response.status)) {
    reading.answer.close();
    reading.onEnd();
    return response.body === null ? response : copyOf(response, null);
  }
  const body = new FetchedBody(reading);
  return copyOf(response, new ReadableStream(body, { highWaterMark: 0 }), () => body.failed);
}

/** The answer as a Response whose body has already been read. */
function readResponseOf({ response }: OpenAnswer, { bytes, end }: Beginning): Response {
  if (response.body === null) return response;
  if (typeof end !== 'object') return copyOf(response, new Uint8Array(bytes));
  let isGiven = bytes.byteLength === 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (isGiven) return controller.error(end.error);
    isGiven = true;
    controller.enqueue(bytes);
  };
  return copyOf(response, new ReadableStream({ pull }), () => end);
}

/** The constructor of Response rejects a body with these (fetch standard, null body status), and a status outside 200 to 599. */
const BODILESS: ReadonlySet<number> = new Set([101, 204, 205, 304]);

type FailureOf = () => { error: unknown } | undefined;

function copyOf(response: Response, body: BodyInit | null, failureOf: FailureOf = () => undefined): Response {
  const { status, statusText, headers, url, redirected, type } = response;
  const isUsual = status >= 200 && status <= 599;
  const copy = new Response(body, { status: isUsual ? status : 599, headers });
  // fetch decodes a reason phrase as UTF-8, which the constructor does not accept.
  const fields = { url, redirected, type, statusText };
  return withFields(copy, isUsual ? fields : { ...fields, status }, failureOf);
}

const READERS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const;

/** Adds fields that the constructor does not accept, and readers that reject with the body's own error, which those of Chromium do not. */
function withFields(response: Response, fields: Partial<Response>, failureOf: FailureOf): Response {
  for (const [name, value] of Object.entries(fields)) Object.defineProperty(response, name, { value });
  for (const name of READERS) {
    const read = async () => {
      try {
        return await Response.prototype[name].call(response);
      } catch (error) {
        throw (failureOf() ?? { error }).error;
      }
    };
    if (name in response) Object.defineProperty(response, name, { value: read });
  }
  const clone = () => withFields(Response.prototype.clone.call(response), fields, failureOf);
  return Object.defineProperty(response, 'clone', { value: clone });
}
