import { sharedTable } from '../shared-table.ts';

export type Bytes = Uint8Array<ArrayBuffer>;

export type BodyReader = Pick<ReadableStreamDefaultReader<Bytes>, 'read' | 'cancel'>;

/** What the client reads of the headers of an answer, by names in lower case. */
export type HeaderFields = Pick<Headers, 'get'>;

/** What a fetch of this package gives the client in place of a Response, which would cost more. */
export interface DirectAnswer {
  readonly type: 'direct';
  readonly status: number;
  readonly headers: HeaderFields;
  /** The body, which can be read once, either way; undefined if there is none. A `cancel` ends a read that is under way. */
  getReader(): BodyReader | undefined;
  toHeaders(): Headers;
  toResponse(): Response;
}

export type WireAnswer = Response | DirectAnswer;

type SendDirectly = (address: string, init: RequestInit) => Promise<DirectAnswer>;

/**
 * How a fetch of this package sends a request for a {@link DirectAnswer}. Found by the function itself, so that a wrapper or mock of it, which
 * may have its properties, is called as the client's fetch.
 */
export const directly = sharedTable<SendDirectly>('direct-answer.1');
