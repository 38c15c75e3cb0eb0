import { type BodyReader, type BodyStream, type Bytes, DIRECT } from './wire-answer.ts';

/**
 * Gives a reader of a body whose `cancel` ends a read that is under way (Streams standard, section 4.3.4). A stream that is not this
 * runtime's may lack that, or have a `cancel` that does not work, so it is read through a stream of this runtime.
 */
export function readerOf(body: BodyStream): BodyReader {
  const reader = body.getReader();
  if (body instanceof ReadableStream || DIRECT in body) return reader;
  const pull = async (controller: ReadableStreamDefaultController<Bytes>) => {
    const { value, done } = await reader.read();
    if (done) controller.close();
    else controller.enqueue(value);
  };
  return new ReadableStream({ pull, cancel: (reason) => reader.cancel(reason) }, { highWaterMark: 0 }).getReader();
}
