import type * as Api from '@opentelemetry/api';
import type { parseTraceParent } from '@opentelemetry/core';
import { monotonicMs } from '../clock.js';
import type { TraceProtocol } from '../config.js';
import { version } from '../version.js';
import { type Logger, showSpansInLogs } from './logging.js';

/** One piece of work in a trace. */
export interface SpanAbout {
  name: string;
  kind: Exclude<keyof typeof Api.SpanKind, 'INTERNAL'>;
  /** Ids and words from closed lists; never a secret, a body or an address. */
  attributes: Record<string, string | number>;
  /** The traceparent that the span continues. Default: that of the current span. */
  parent?: string | undefined;
}

/** The work's view of its span. */
export interface RunningSpan {
  traceparent: string;
  note(attributes: SpanAbout['attributes']): void;
  /** It went wrong, though the work throws nothing: why, as a short code. */
  fail(code: string): void;
}

/** Where the spans of this process go. */
export interface Tracing {
  /** Does the work within a span, and gives or throws the same. */
  span<T>(about: SpanAbout, work: (span: RunningSpan) => Promise<T>): Promise<T>;
  /** The traceparent of the span that this code runs in. */
  current(): string | undefined;
  /** Adds attributes to the span that this code runs in. */
  note(attributes: SpanAbout['attributes']): void;
  /** Sends the remaining spans, within seconds. */
  close(): Promise<void>;
}

interface TracingOptions {
  /** Part of the service name of the spans, unless `OTEL_SERVICE_NAME` gives another. */
  process: string;
  logger: Logger;
  protocol: TraceProtocol;
}

const closeLimitMs = 3_000;
/** A collector that is down fails each batch, one every few seconds. */
const complainEveryMs = 60_000;

/** Starts to send traces as the standard `OTEL_*` variables say. Loads the libraries only here, so that a process without traces does not. */
export async function openTracing({ process, logger, protocol }: TracingOptions): Promise<Tracing> {
  const [api, core, sdk, { OTLPTraceExporter }, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/sdk-trace-node'),
    protocol === 'http/json'
      ? import('@opentelemetry/exporter-trace-otlp-http')
      : import('@opentelemetry/exporter-trace-otlp-proto'),
    import('@opentelemetry/resources'),
  ]);
  const onFailure = complainNowAndThen(logger);
  core.setGlobalErrorHandler(onFailure);
  const named = resources.resourceFromAttributes({
    ...{ 'service.name': `faretrail-${process}`, 'service.version': version },
  });
  const given = resources.detectResources({ detectors: [resources.envDetector] });
  const provider = new sdk.NodeTracerProvider({
    resource: resources.defaultResource().merge(named).merge(given),
    spanProcessors: [new sdk.BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register({ propagator: null });
  showSpansInLogs(() => {
    const current = api.trace.getActiveSpan()?.spanContext();
    return current ? { trace_id: current.traceId, span_id: current.spanId } : {};
  });
  const limit = () => new Promise<void>((resolve) => setTimeout(resolve, closeLimitMs).unref());
  return {
    span: createSpans(api, core.parseTraceParent, provider.getTracer('faretrail', version)),
    current() {
      const current = api.trace.getActiveSpan()?.spanContext();
      return current && toTraceparent(current);
    },
    note: (attributes) => void api.trace.getActiveSpan()?.setAttributes(attributes),
    close: () => Promise.race([provider.shutdown().catch(onFailure), limit()]),
  };
}

function complainNowAndThen(logger: Logger): (error: unknown) => void {
  let quietUntil = 0;
  return (error) => {
    if (monotonicMs() < quietUntil) return;
    quietUntil = monotonicMs() + complainEveryMs;
    logger.warn({ err: error }, 'traces could not be sent, and are dropped');
  };
}

function createSpans(api: typeof Api, parse: typeof parseTraceParent, tracer: Api.Tracer): Tracing['span'] {
  return ({ name, kind, attributes, parent = '' }, work) => {
    const remote = parse(parent);
    const around = remote
      ? api.trace.setSpanContext(api.ROOT_CONTEXT, { ...remote, isRemote: true })
      : api.context.active();
    return tracer.startActiveSpan(name, { kind: api.SpanKind[kind], attributes }, around, async (span) => {
      const fail = (code: string): void => {
        span.setAttribute('error.type', code).setStatus({ code: api.SpanStatusCode.ERROR, message: code });
      };
      try {
        return await work({
          traceparent: toTraceparent(span.spanContext()),
          note: (more) => void span.setAttributes(more),
          fail,
        });
      } catch (error) {
        if (!isBenign(error)) fail(codeOf(error));
        throw error;
      } finally {
        span.end();
      }
    });
  };
}

const toTraceparent = ({ traceId, spanId, traceFlags }: Api.SpanContext): string =>
  `00-${traceId}-${spanId}-${(traceFlags & 1).toString().padStart(2, '0')}`;

/** "Not yet" of an activity that polls. */
const isBenign = (error: unknown): boolean =>
  error instanceof Error && 'category' in error && error.category === 'BENIGN';

/** The code of our errors, or the type of an `ApplicationFailure`. Messages may hold too much. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return 'type' in error && typeof error.type === 'string' ? error.type : error.name;
}
