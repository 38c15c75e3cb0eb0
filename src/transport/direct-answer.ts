import type { Call } from '../call.ts';
import type { EndSignal } from '../clock/light-signal.ts';
import { sharedTable } from '../shared-table.ts';

export type Bytes = Uint8Array<ArrayBuffer>;

export interface BodyReader extends Pick<ReadableStreamDefaultReader<Bytes>, 'read' | 'cancel'> {
  /** Gives all chunks of a body that has arrived whole and has at most `maxBytes`; otherwise undefined, and it can still be read. */
  takeWhole?(maxBytes: number): readonly Bytes[] | undefined;
}

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

/** A request of plain values. */
export interface DirectRequest {
  method: string;
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
  signal: EndSignal;
  /** The call, which learns when the request waits for a connection, and is certainly not sent, and when it is handed to one. */
  call?: Pick<Call, 'refused' | 'started'> | undefined;
}

type SendDirectly = (address: string, request: DirectRequest) => Promise<DirectAnswer>;

/**
 * How a fetch of this package sends a request for a {@link DirectAnswer}. Found by the function itself, so that a wrapper or mock of it, which
 * may have its properties, is called as the client's fetch.
 */
export const directly = sharedTable<SendDirectly>('direct-answer.4');
