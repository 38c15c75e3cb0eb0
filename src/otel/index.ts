/**
 * Spans and measurements of what a client does, for OpenTelemetry.
 *
 * @module otel
 */
export { type TraceOptions, traceClient } from './trace-client.ts';
