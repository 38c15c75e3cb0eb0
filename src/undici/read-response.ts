import { type Duplex, pipeline, Readable } from 'node:stream';
import zlib, { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { BodyReader, Bytes, DirectAnswer } from '../transport/direct-answer.ts';
import type { DispatchedRequest } from './read-request.ts';
import { ResponseBody } from './response-body.ts';

/** The response headers from undici, with names in lower case. */
export type RawHeaders = Record<string, string | string[] | undefined>;

interface Head {
  status: number;
  statusText: string;
  headers: RawHeaders;
}

/** The constructor of Response rejects a body with these statuses (fetch standard, null body status). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

const DECODERS: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  // From Node 22.15 on.
  ...(zlib.createZstdDecompress ? [['zstd', zlib.createZstdDecompress] as const] : []),
]);

/** An answer whose body is decoded as by fetch. */
export class UndiciAnswer implements DirectAnswer {
  readonly type = 'direct';
  readonly status: number;
  readonly headers: Headers;
  readonly #statusText: string;
  readonly #address: string;
  // As it comes from undici, if it needs no decoding.
  readonly #body: ResponseBody | ReadableStream<Bytes> | null;

  constructor({ status, statusText, headers }: Head, body: ResponseBody, { method, url }: DispatchedRequest) {
    this.status = status;
    this.headers = headersOf(headers);
    this.#statusText = isText(statusText) ? statusText : '';
    this.#address = url.href;
    const isBodiless = method === 'HEAD' || BODILESS.has(status);
    if (isBodiless) void dropBytes(body);
    this.#body = isBodiless ? null : decoded(body, this.headers.get('content-encoding'));
  }

  getReader(): BodyReader | undefined {
    return this.#body instanceof ReadableStream ? this.#body.getReader() : (this.#body ?? undefined);
  }

  toResponse(): Response {
    const { status, headers } = this;
    // The constructor of Response rejects a status outside 200 to 599, which an answer may have.
    const isUsual = status >= 200 && status <= 599;
    const stream = this.#body instanceof ResponseBody ? this.#body.toStream() : this.#body;
    const response = new Response(stream, { status: isUsual ? status : 599, statusText: this.#statusText, headers });
    Object.defineProperty(response, 'url', { value: this.#address });
    return isUsual ? response : Object.defineProperty(response, 'status', { value: status });
  }
}

/** Drops the connection if bytes come where none may be. */
async function dropBytes(body: ResponseBody): Promise<void> {
  const { done } = await body.read().catch(() => ({ done: true }));
  if (!done) await body.cancel();
}

/** Removes the codings in reverse order (RFC 9110 section 8.4). With an unknown coding, the body is not decoded, as with fetch. */
function decoded(body: ResponseBody, codings: string | null): ResponseBody | ReadableStream<Bytes> {
  if (codings === null) return body;
  const decoders = codings
    .toLowerCase()
    .split(',')
    .map((coding) => DECODERS.get(coding.trim()))
    .reverse();
  const known = decoders.filter((decoder) => decoder !== undefined);
  return known.length < decoders.length ? body : streamOf(decode(body, known), body);
}

/** Decodes a body. An empty body is valid with any coding. */
async function* decode(body: ResponseBody, decoders: readonly (() => Duplex)[]): AsyncGenerator<Bytes> {
  const { value, done } = await body.read();
  if (done) return;
  const whole = async function* () {
    yield value;
    yield* body;
  };
  yield* decoders.reduce<Readable>((stream, make) => pipeline(stream, make(), () => {}), Readable.from(whole()));
}

function streamOf(bytes: AsyncGenerator<Bytes>, body: ResponseBody): ReadableStream<Bytes> {
  const pull = async (controller: ReadableStreamDefaultController<Bytes>) => {
    const { value, done } = await bytes.next();
    if (done) controller.close();
    else controller.enqueue(value);
  };
  return new ReadableStream({ pull, cancel: () => body.cancel() }, { highWaterMark: 0 });
}

function headersOf(raw: RawHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(raw)) {
    for (const each of Array.isArray(value) ? value : [value ?? '']) headers.append(name, isText(each) ? each : toBytes(each));
  }
  return headers;
}

function isText(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}

/** undici decodes header values as UTF-8, but Headers only accept characters that stand for bytes. */
function toBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
