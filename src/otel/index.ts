/**
 * Spans and metrics of a client's calls, for OpenTelemetry.
 * @module petstore-inventory/otel
 */
export { type TraceOptions, traceClient } from './trace-client.ts';
