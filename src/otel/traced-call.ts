import {
  type Attributes,
  type Counter,
  context,
  type Histogram,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { FetchWith } from '../around-fetch.ts';
import { isPetStoreError } from '../errors.ts';
import type { CallEvent, ClientEvents, WaitReason } from '../events.ts';
import { isError, textOf, unharmed } from '../thrown.ts';

/** The tracer, metrics and attributes for the calls of one client. */
export interface Scope {
  tracer: Tracer;
  readonly shownAddress: string;
  server: Attributes;
  requests: Histogram;
  waits: Histogram;
  refusals: Counter;
}

/** Other methods are reported as `_OTHER`, since each method makes its own time series (conventions for HTTP, `http.request.method`). */
const KNOWN_METHODS: ReadonlySet<string> = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'QUERY',
  'TRACE',
]);

/** The span of one call, and in it the spans of its attempts and waits, one at a time. */
export class TracedCall {
  readonly #scope: Scope;
  readonly #span: Span;
  readonly #inside: ReturnType<typeof trace.setSpan>;
  #step: { span: Span; measured: Attributes; histogram: Histogram; sinceMs: number } | undefined;

  constructor({ callId, operation, petId }: CallEvent, scope: Scope) {
    const attributes = { ...scope.server, 'petstore.call_id': callId, 'petstore.pet_id': petId?.toString() };
    this.#scope = scope;
    this.#span = scope.tracer.startSpan(operation, { kind: SpanKind.CLIENT, attributes });
    this.#inside = trace.setSpan(context.active(), this.#span);
  }

  wait(reason: WaitReason): void {
    // A backoff follows a failed attempt. If no retry event has reported the error, it is unknown here.
    if (reason === 'backoff') this.#endStep('_OTHER');
    const measured = { 'petstore.wait.reason': reason };
    const span = this.#startSpan(`wait ${reason}`, SpanKind.INTERNAL, measured);
    this.#step = { span, measured, histogram: this.#scope.waits, sinceMs: performance.now() };
  }

  send({ attempt, method, path }: ClientEvents['request']): void {
    const { server, shownAddress, requests } = this.#scope;
    const isKnown = KNOWN_METHODS.has(method);
    const measured = { ...server, 'http.request.method': isKnown ? method : '_OTHER' };
    const attributes = {
      ...measured,
      'url.full': `${shownAddress}${path}`,
      'http.request.method_original': isKnown ? undefined : method,
      'http.request.resend_count': attempt > 1 ? attempt - 1 : undefined,
    };
    const span = this.#startSpan(isKnown ? method : 'HTTP', SpanKind.CLIENT, attributes);
    this.#step = { span, measured, histogram: requests, sinceMs: performance.now() };
  }

  /** Calls fetch with the attempt's span active, and with its context in the headers if `propagate` is set. */
  fetch(fetchWith: FetchWith, propagate: boolean): void {
    const active = this.#step ? trace.setSpan(this.#inside, this.#step.span) : this.#inside;
    const headers = new Headers();
    const setter = { set: (carrier: Headers, name: string, value: string) => carrier.set(name, value) };
    if (propagate) unharmed(() => propagation.inject(active, headers, setter));
    context.with(active, () => fetchWith(Object.fromEntries(headers)));
  }

  receive({ status, operation }: ClientEvents['response']): void {
    this.#note('http.response.status_code', status);
    if (status >= 400) this.#note('error.type', String(status));
    if (status === 429) this.#scope.refusals.add(1, this.#scope.server);
    // The rest of a stream or Response is read at the caller's pace, so it is not measured.
    if (operation === 'fetch' || (status < 300 && operation === 'streamInventory')) this.#endStep();
  }

  retry({ error }: ClientEvents['retry']): void {
    this.#endStep(typeOf(error));
  }

  settle({ outcome, attempt, supersededBy, ...rest }: ClientEvents['settled']): void {
    const { error } = rest;
    const type = 'error' in rest ? typeOf(error) : undefined;
    this.#span.setAttributes({
      'petstore.outcome': outcome,
      'petstore.attempts': attempt,
      'petstore.superseded_by': supersededBy,
      'error.type': type,
    });
    // Other messages are left out, since a caller may abort with any value.
    if (type) this.#span.setStatus({ code: SpanStatusCode.ERROR, message: isPetStoreError(error) ? error.message : type });
    this.#endStep(type);
    this.#span.end();
  }

  /** Ends open spans when tracing stops; unfinished calls are not measured. */
  leave(): void {
    unharmed(() => this.#step?.span.setAttributes(this.#step.measured).end());
    this.#step = undefined;
    this.#span.end();
  }

  #startSpan(name: string, kind: SpanKind, attributes: Attributes): Span {
    this.#endStep();
    return this.#scope.tracer.startSpan(name, { kind, attributes }, this.#inside);
  }

  #note(name: string, value: string | number): void {
    if (this.#step) this.#step.measured[name] = value;
  }

  #endStep(errorType?: string): void {
    const step = this.#step;
    if (!step) return;
    this.#step = undefined;
    const { span, measured, histogram, sinceMs } = step;
    if (errorType) measured['error.type'] ??= errorType;
    // One at a time, so that a failure of one does not keep the rest of the call from being traced.
    unharmed(() => {
      if (measured['error.type']) span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttributes(measured).end();
    });
    unharmed(() => histogram.record((performance.now() - sinceMs) / 1000, measured));
  }
}

/** The type of an error for metrics, of which there are few different values. */
function typeOf(error: unknown): string {
  if (isPetStoreError(error)) return error.kind;
  return (isError(error) ? textOf(error, 'name') : undefined) ?? '_OTHER';
}
