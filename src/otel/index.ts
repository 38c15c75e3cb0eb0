/**
 * Spans and measurements of what a client does, for OpenTelemetry.
 * @module petstore-inventory/otel
 */
export { type TraceOptions, traceClient } from './trace-client.ts';
