type Bytes = Uint8Array<ArrayBuffer>;

export type BodyReader = ReadableStreamDefaultReader<Bytes>;

/** What a caller's fetch may give as a body: a stream of this runtime, or something like one. */
export interface BodyStream {
  getReader(): BodyReader;
}

/**
 * The reader of a body, whose `cancel` ends a read that is under way (Streams standard, section 4.3.4). Another make of stream need not
 * do so, nor have a `cancel` that works: it is read through a stream of this runtime, which does.
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
