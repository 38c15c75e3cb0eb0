import type { BodyReader, Bytes } from './direct-answer.ts';

/** The body of a Response from a caller's fetch: a stream of this runtime, or something like one. */
interface BodyStream {
  getReader(): BodyReader;
}

/**
 * Gives a reader of a body whose `cancel` ends a read that is under way (Streams standard, section 4.3.4). A stream that is not this
 * runtime's may lack that, or have a `cancel` that does not work, so it is read through a stream of this runtime.
 */
export function readerOf(body: BodyStream): BodyReader {
  const reader = body.getReader();
  return body instanceof ReadableStream ? reader : streamOf(reader).getReader();
}

interface Source {
  read(): Promise<{ done?: boolean | undefined; value?: Bytes | undefined }>;
  cancel(reason: unknown): Promise<unknown>;
}

/** A stream that reads from its source only when it is asked for more. */
export function streamOf(source: Source): ReadableStream<Bytes> {
  const pull = async (controller: ReadableStreamDefaultController<Bytes>) => {
    const { value, done } = await source.read();
    if (done || value === undefined) controller.close();
    else controller.enqueue(value);
  };
  const cancel = async (reason: unknown) => {
    await source.cancel(reason);
  };
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
}
