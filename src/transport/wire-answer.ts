export type Bytes = Uint8Array<ArrayBuffer>;

export type BodyReader = Pick<ReadableStreamDefaultReader<Bytes>, 'read' | 'cancel'>;

/** The body of an answer: a stream of this runtime, something like one from a caller's fetch, or that of a {@link DirectFetch}. */
export interface BodyStream {
  readonly locked: boolean;
  getReader(): BodyReader;
}

/** What is read of an answer. A Response is one. */
export interface WireAnswer extends Pick<Response, 'status' | 'statusText' | 'headers' | 'url' | 'redirected' | 'type' | 'bodyUsed'> {
  readonly body: BodyStream | null;
}

/** Marks a {@link DirectFetch} and its bodies. Entry points are bundled separately, and a program may load two copies of the package. */
export const DIRECT = Symbol.for('petstore-inventory.direct');

/** A fetch of this package that can send a request as {@link http} makes it without the cost of a Response. */
export interface DirectFetch {
  [DIRECT](address: string, init: RequestInit): Promise<WireAnswer>;
}

export function isDirect(fetch: object): fetch is DirectFetch {
  return DIRECT in fetch;
}
