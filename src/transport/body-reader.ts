import type { BodyReader, Bytes } from './direct-answer.ts';

/** The body of a Response from a caller's fetch: a stream of this runtime, or something like one. */
export interface BodyStream {
  getReader(): BodyReader;
}

/**
 * Gives a reader of a body whose `cancel` ends a read that is under way (Streams standard, section 4.3.4). A stream that is not this
 * runtime's may lack that, or have a `cancel` that does not work, so it is read through a stream of this runtime.
 */
export function readerOf(body: BodyStream): BodyReader {
  const reader = body.getReader();
  if (body instanceof ReadableStream) return reader;
  const pull = async (controller: ReadableStreamDefaultController<Bytes>) => {
    const { value, done } = await reader.read();
    if (done) controller.close();
    else controller.enqueue(value);
  };
  return new ReadableStream({ pull, cancel: (reason) => reader.cancel(reason) }, { highWaterMark: 0 }).getReader();
}
