import { isBrowser } from '../options/environment.ts';
import { hasMethods } from '../options/rules.ts';
import { fieldOf } from '../thrown.ts';
import { streamOf } from '../transport/body-reader.ts';
import type { RequestBody } from '../transport/http.ts';
import { BodyFailure } from '../transport/network-error.ts';

type Bytes = Uint8Array<ArrayBuffer>;
type Ending = Pick<AbortSignal, 'aborted' | 'throwIfAborted'> | undefined;

/** Whether a body can be read only once: a stream, or an iterable of bytes. */
export function isReadOnce(body: RequestBody | undefined): boolean {
  return isStream(body) || isIterable(body);
}

/**
 * Whether this runtime sends streams. Of the browsers, those do that have this field: Firefox would send the text
 * "[object ReadableStream]", and Safari refuses.
 */
export function sendsStreams(): boolean {
  return !isBrowser() || 'duplex' in Request.prototype;
}

/**
 * The same bytes, whose failure is a {@link BodyFailure}, so that it is not taken for one of the network. Any other body stays as it is.
 * After an abort, a stream is read no further. It is not cancelled: for a form, Node would have an unhandled rejection.
 */
export function ownBody(body: RequestBody | undefined, signal?: Ending): RequestBody | undefined {
  if (isStream(body)) return ofStream(body, signal);
  return isIterable(body) ? ofIterable(body) : body;
}

/** Whether it is a stream that fetch would refuse, as if the connection had failed. */
export function isSpent(body: RequestBody | undefined): boolean {
  // The fields of a stream of Node.
  return [fieldOf(body, 'readableDidRead'), fieldOf(body, 'destroyed')].includes(true) || (isStream(body) && !isReadable(body));
}

/** Nothing but the constructor shows that a stream was read before and released. It does not read. */
function isReadable(stream: RequestBody): boolean {
  try {
    return new Response(stream).body !== null;
  } catch {
    return false;
  }
}

function isStream(body: unknown): body is ReadableStream<Bytes> {
  return hasMethods(body, ['getReader']);
}

/** In Node, fetch also takes text from an iterable. */
function isIterable(body: unknown): body is AsyncIterable<Bytes | string> {
  return hasMethods(body, [Symbol.asyncIterator]);
}

function ofStream(stream: ReadableStream<Bytes>, signal: Ending): ReadableStream<Bytes> {
  let reader: ReadableStreamDefaultReader<Bytes> | undefined;
  const next = () => {
    signal?.throwIfAborted();
    reader ??= stream.getReader();
    return reader.read();
  };
  return watched(next, async (reason) => (signal?.aborted ? undefined : (reader ?? stream).cancel(reason)));
}

function ofIterable(items: AsyncIterable<Bytes | string>): ReadableStream<Bytes> {
  let iterator: AsyncIterator<Bytes | string> | undefined;
  const next = () => {
    iterator ??= items[Symbol.asyncIterator]();
    return iterator.next();
  };
  return watched(next, async () => {
    await iterator?.return?.();
  });
}

function watched(
  next: () => Promise<{ done?: boolean | undefined; value?: unknown }>,
  cancel: (reason: unknown) => Promise<void>,
): ReadableStream<Bytes> {
  const read = async () => {
    try {
      const { done, value } = await next();
      return done ? { done } : { value: bytesOf(value) };
    } catch (thrown) {
      // So that a generator runs its `finally`.
      cancel(thrown).catch(() => {});
      throw new BodyFailure(thrown);
    }
  };
  return streamOf({ read, cancel });
}

/** @throws TypeError for a part that is no part of a body */
function bytesOf(part: unknown): Bytes {
  if (typeof part === 'string') return new TextEncoder().encode(part);
  if (part instanceof ArrayBuffer) return new Uint8Array(part);
  // A copy, since the caller may use its buffer again for the next part.
  if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength).slice();
  throw new TypeError('a part of it is neither bytes nor text');
}
