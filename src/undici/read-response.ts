import { type Duplex, pipeline, Readable } from 'node:stream';
import zlib, { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { streamOf } from '../transport/body-reader.ts';
import type { BodyReader, Bytes, DirectAnswer, HeaderFields } from '../transport/direct-answer.ts';
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

/** A larger window than 8 MiB is not valid here (RFC 9659 section 3): it would be allocated whole. */
const ZSTD_WINDOW = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } };

const DECODERS: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  // From Node 22.15 on.
  ...(zlib.createZstdDecompress ? [['zstd', () => zlib.createZstdDecompress(ZSTD_WINDOW)] as const] : []),
]);

/** The most codings of one body, as with fetch: each takes memory, whatever the size of the body. */
const MOST_CODINGS = 5;

/** An answer whose body is decoded as by fetch. */
export class UndiciAnswer implements DirectAnswer {
  readonly type = 'direct';
  readonly status: number;
  readonly headers: HeaderFields;
  readonly #rawHeaders: RawHeaders;
  readonly #statusText: string;
  readonly #url: URL;
  // As it comes from undici, if it needs no decoding.
  readonly #body: ResponseBody | ReadableStream<Bytes> | null;

  constructor({ status, statusText, headers }: Head, body: ResponseBody, { method, url }: DispatchedRequest) {
    this.status = status;
    this.headers = fieldsOf(headers);
    this.#rawHeaders = headers;
    this.#statusText = statusText;
    this.#url = url;
    const isBodiless = method === 'HEAD' || BODILESS.has(status);
    if (isBodiless) void dropBytes(body);
    this.#body = isBodiless ? null : decoded(body, this.headers.get('content-encoding'));
  }

  getReader(): BodyReader | undefined {
    return this.#body instanceof ReadableStream ? this.#body.getReader() : (this.#body ?? undefined);
  }

  /** Made only for callers who read them: it costs more than reading the few that the client needs. */
  toHeaders(): Headers {
    const headers = new Headers();
    for (const [name, value] of Object.entries(this.#rawHeaders)) {
      for (const each of Array.isArray(value) ? value : [value ?? '']) headers.append(name, latin1Of(each));
    }
    return headers;
  }

  toResponse(): Response {
    const { status } = this;
    const isUsual = status >= 200 && status <= 599;
    const stream = this.#body instanceof ResponseBody ? this.#body.toStream() : this.#body;
    const response = new Response(stream, { status: isUsual ? status : 599, headers: this.toHeaders() });
    return withFields(response, { status, statusText: this.#statusText, url: this.#url.href.replace(/#.*/s, '') });
  }
}

/**
 * Sets what the constructor of Response refuses (a status outside 200 to 599, a status text beyond Latin-1) or does not take (the address),
 * also for its clones, which would lose them.
 */
function withFields(response: Response, fields: Pick<Response, 'status' | 'statusText' | 'url'>): Response {
  const clone = () => withFields(Response.prototype.clone.call(response), fields);
  for (const [name, value] of Object.entries({ ...fields, clone })) Object.defineProperty(response, name, { value });
  return response;
}

/** Drops the connection if bytes come where none may be. */
async function dropBytes(body: ResponseBody): Promise<void> {
  const { done } = await body.read().catch(() => ({ done: true }));
  if (!done) await body.cancel();
}

/**
 * Removes the codings in reverse order (RFC 9110 section 8.4). With an unknown coding, the body is not decoded, as with fetch. `identity` is
 * no coding, though a server may say so (section 12.5.3), nor is an empty element of the list (section 5.6.1).
 */
function decoded(body: ResponseBody, codings: string | null): ResponseBody | ReadableStream<Bytes> {
  if (codings === null) return body;
  const decoders = codings
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity')
    .map((coding) => DECODERS.get(coding))
    .reverse();
  const known = decoders.filter((decoder) => decoder !== undefined);
  if (known.length === 0 || known.length < decoders.length) return body;
  const bytes = decode(body, known);
  return streamOf({ read: () => bytes.next(), cancel: () => body.cancel() });
}

/** Decodes a body. An empty body is valid with any coding. @throws Error for more codings than {@link MOST_CODINGS} */
async function* decode(body: ResponseBody, decoders: readonly (() => Duplex)[]): AsyncGenerator<Bytes> {
  if (decoders.length > MOST_CODINGS) {
    await body.cancel();
    throw new Error(`the body has ${decoders.length} codings, more than ${MOST_CODINGS}`);
  }
  const { value, done } = await body.read();
  if (done) return;
  const whole = async function* () {
    yield value;
    yield* body;
  };
  yield* decoders.reduce<Readable>((stream, make) => pipeline(stream, make(), () => {}), Readable.from(whole()));
}

function fieldsOf(raw: RawHeaders): HeaderFields {
  return {
    get: (name) => {
      const value = raw[name];
      return value === undefined ? null : latin1Of(Array.isArray(value) ? value.join(', ') : value);
    },
  };
}

/** undici decodes header values as UTF-8, but Headers only accept characters that stand for bytes. */
function latin1Of(text: string): string {
  return isText(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

function isText(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}
