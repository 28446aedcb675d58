import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../stack/run/until.js';
import { freePorts } from '../../stack/temporal/free-port.js';
import { startServerProcess } from '../../stack/temporal/server-process.js';
import type { OnEnd } from '../profile.js';
import type { Tool } from './tools.js';

/** One span as Jaeger gives it. */
export interface JaegerSpan {
  service: string;
  name: string;
  spanId: string;
  /** Its parent comes first, if it has one; then its links. */
  references: { traceID: string; spanID: string }[];
}

/** A collector that hands spans on to Jaeger. */
export interface Observatory {
  /** Where spans are sent, over OTLP/HTTP. */
  endpoint: string;
  /** The spans of a trace; none while Jaeger knows it not. */
  trace(traceId: string): Promise<JaegerSpan[]>;
  /** The ids of the newest traces in which a service took part. */
  tracesOf(service: string): Promise<string[]>;
  /** How many spans the collector has taken, and how many it has refused or could not hand on. */
  counts(): Promise<{ taken: number; lost: number }>;
}

interface Found {
  traceID: string;
  spans: { spanID: string; operationName: string; processID: string; references: JaegerSpan['references'] }[];
  processes: Record<string, { serviceName: string }>;
}

const upWithinMs = 60_000;

/** Starts both. Files of settings in JSON are YAML, too. */
export async function startObservatory(
  tools: { collector: Tool; jaeger: Tool },
  folder: string,
  onEnd: OnEnd,
): Promise<Observatory> {
  const ports = await freePorts(5);
  const [toCollector, collectorMetrics, toJaeger, jaegerHttp, jaegerGrpc] = ports.map((port) => `127.0.0.1:${port}`);
  const listening = (endpoint?: string) => ({ otlp: { protocols: { http: { endpoint } } } });
  const [host, metricsPort] = collectorMetrics?.split(':') ?? [];
  const start = async ({ program }: Tool, name: string, settings: object): Promise<void> => {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, JSON.stringify(settings));
    const env = { ...process.env, OTEL_TRACES_SAMPLER: 'always_off' }; // no spans of its own
    const server = await startServerProcess(program, ['--config', file], { env });
    onEnd(() => server.stop());
  };
  await start(tools.jaeger, 'jaeger', {
    receivers: listening(toJaeger),
    exporters: { jaeger_storage_exporter: { trace_storage: 'memory' } },
    extensions: {
      jaeger_storage: { backends: { memory: { memory: { max_traces: 100_000 } } } },
      jaeger_query: { storage: { traces: 'memory' }, http: { endpoint: jaegerHttp }, grpc: { endpoint: jaegerGrpc } },
    },
    service: {
      extensions: ['jaeger_storage', 'jaeger_query'],
      pipelines: { traces: { receivers: ['otlp'], exporters: ['jaeger_storage_exporter'] } },
      telemetry: { metrics: { level: 'none' } },
    },
  });
  await start(tools.collector, 'collector', {
    receivers: listening(toCollector),
    exporters: { otlphttp: { endpoint: `http://${toJaeger}` } },
    service: {
      pipelines: { traces: { receivers: ['otlp'], exporters: ['otlphttp'] } },
      telemetry: {
        metrics: {
          level: 'detailed',
          readers: [{ pull: { exporter: { prometheus: { host, port: Number(metricsPort) } } } }],
        },
      },
    },
  });
  const ask = async (path: string): Promise<Found[]> => {
    const { data } = (await (await fetch(`http://${jaegerHttp}/api/${path}`)).json()) as { data: Found[] | null };
    return data ?? [];
  };
  const metrics = async (): Promise<string> => await (await fetch(`http://${collectorMetrics}/metrics`)).text();
  const isUp = async () => (await Promise.all([ask('services'), metrics()])).length === 2;
  await until('collector and Jaeger are not up', isUp, { withinMs: upWithinMs });
  return {
    endpoint: `http://${toCollector}`,
    trace: async (traceId) => (await ask(`traces/${traceId}`)).flatMap(toSpans),
    tracesOf: async (service) => (await ask(`traces?service=${service}&limit=500`)).map(({ traceID }) => traceID),
    async counts() {
      const text = await metrics();
      const sum = (name: RegExp): number =>
        text.split('\n').reduce((all, line) => all + (name.test(line) ? Number(line.split(' ').at(-1)) : 0), 0);
      return {
        taken: sum(/^otelcol_receiver_accepted_spans_total{.*transport="http"/),
        lost: sum(/^otelcol_(receiver_(refused|failed)|exporter_(send|enqueue)_failed)_spans_total{/),
      };
    },
  };
}

const toSpans = ({ spans, processes }: Found): JaegerSpan[] =>
  spans.map(({ spanID: spanId, operationName: name, processID, references }) => ({
    ...{ name, spanId, references },
    service: processes[processID]?.serviceName ?? '',
  }));
