import { context, SpanStatusCode } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

/** A metric reader that reads only when it is asked. */
class Reader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

let ids = 0;

/** Ids that are not random, so that a test can predict them. */
function nextId(length: number): string {
  ids += 1;
  return ids.toString(16).padStart(length, '0');
}

/** Collects spans and measurements in memory, and shows them as lines. */
export class Collector {
  readonly #spans = new InMemorySpanExporter();
  readonly #reader = new Reader();
  readonly tracerProvider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter: this.#spans })],
    idGenerator: { generateTraceId: () => nextId(32), generateSpanId: () => nextId(16) },
  });
  readonly meterProvider = new MeterProvider({ readers: [this.#reader] });

  get spans(): ReadableSpan[] {
    return this.#spans.getFinishedSpans();
  }

  /** Each span as a line, with seconds since `startMs`, in the order of their beginning, below the span whose child it is. */
  tree(startMs: number, parent?: ReadableSpan): string[] {
    const children = this.spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent?.spanContext().spanId);
    return children
      .toSorted((one, other) => (one.spanContext().spanId < other.spanContext().spanId ? -1 : 1))
      .flatMap((span) => [lineOf(span, startMs), ...this.tree(startMs, span).map((line) => `  ${line}`)]);
  }

  /** The attributes of each series of measurements. */
  async measured(): Promise<object[]> {
    const { resourceMetrics } = await this.#reader.collect();
    const points = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics.map(({ dataPoints }) => dataPoints));
    return points.flatMap((each) => each.map(({ attributes }) => attributes));
  }

  /** Each series of measurements as a line: its name, its attributes, how often and how much. */
  async series(): Promise<string[]> {
    const { resourceMetrics } = await this.#reader.collect();
    const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return metrics.flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ attributes, value }) => {
        const figure = typeof value === 'object' && 'count' in value ? `${value.count} in ${seconds((value.sum ?? 0) * 1000)}` : `${value}`;
        return `${descriptor.name} ${attributesOf(attributes)}: ${figure}`;
      }),
    );
  }
}

/** Keeps the active context over awaits, as every program that traces does. */
export function keepContext(): () => void {
  const manager = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(manager);
  return () => context.disable();
}

function lineOf(span: ReadableSpan, startMs: number): string {
  const [from, to] = [span.startTime, span.endTime].map((time) => seconds(millisOf(time) - startMs));
  const failed = span.status.code === SpanStatusCode.ERROR ? ` FAILED ${span.status.message ?? ''}`.trimEnd() : '';
  return `${span.name} ${from} to ${to} ${attributesOf(span.attributes)}${failed}`.replace(/ +/g, ' ').trimEnd();
}

/** Without the attributes that are the same in every span. */
function attributesOf(attributes: object): string {
  const shown = Object.entries(attributes).filter(([name]) => !/^(server\.|url\.|http\.request\.method)/.test(name));
  return shown.map(([name, value]) => `${name.replace(/^(petstore|http)\./, '')}=${value}`).join(' ');
}

function millisOf([seconds, nanos]: ReadableSpan['startTime']): number {
  return seconds * 1000 + nanos / 1e6;
}

function seconds(ms: number): string {
  return `${Math.round(ms) / 1000}`;
}
