import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readTracing } from '../../src/config.js';
import { FaretrailError } from '../../src/domain/errors.js';
import { createLogger } from '../../src/observability/logging.js';
import { openTracing, type Tracing } from '../../src/observability/tracing.js';
import { EnvReader } from '../../src/settings/env-reader.js';
import { filesBelow } from '../structure/project-files.js';
import { startTraceReceiver, type TraceReceiver } from '../support/server/trace-receiver.js';

function read(env: Record<string, string>) {
  const reader = new EnvReader(env);
  return { protocol: readTracing(reader), problems: reader.problems };
}

it.each([
  [{}, null],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example' }, null],
  [{ OTEL_TRACES_EXPORTER: 'none' }, null],
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, 'http/protobuf'],
  [{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, 'http/json'],
  [{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'TRUE' }, null],
])('whether and how traces are sent is read from %j', (env, protocol) => {
  expect(read(env)).toEqual({ protocol, problems: [] });
});

it('a worker refuses an exporter or a protocol of traces that it does not know', () => {
  const { problems: unknown } = read({ OTEL_TRACES_EXPORTER: 'zipkin' });
  expect(unknown).toEqual(['OTEL_TRACES_EXPORTER: must be one of otlp, none']);
  const { problems } = read({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
  expect(problems).toEqual([
    expect.stringMatching(/^OTEL_EXPORTER_OTLP_PROTOCOL: must be http\/protobuf or http\/json/),
  ]);
});

it('tracing costs nothing while it is off: no source loads its libraries at once', () => {
  const loads = filesBelow('src').filter(({ text }) => /^import (?!type )[^;]*'@opentelemetry/m.test(text));
  expect(loads.map(({ path }) => path)).toEqual([]);
});

let receiver: TraceReceiver;
let tracing: Tracing;
beforeAll(async () => {
  receiver = await startTraceReceiver();
  for (const [name, value] of Object.entries(receiver.env)) vi.stubEnv(name, value);
  vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment=test');
  const logger = createLogger({ level: 'silent', process: 'worker' });
  tracing = await openTracing({ process: 'worker', logger, protocol: 'http/json' });
});
afterAll(async () => {
  await tracing.close();
  await receiver.close();
  vi.unstubAllEnvs();
});

const about = (name: string) => ({ name, kind: 'CLIENT' as const, attributes: {} });
const arrived = async (name: string) => {
  const find = () => receiver.spans().find((span) => span.name === name);
  await expect.poll(find).toBeDefined();
  return find();
};

it('a span continues its parent, or begins a trace, and is the parent of what runs in it', async () => {
  const cause = await tracing.span(about('cause'), async ({ traceparent }) => traceparent);
  const inner = () => tracing.span(about('inner'), async () => undefined);
  await tracing.span({ ...about('outer'), parent: cause }, inner);
  await tracing.span({ ...about('other'), parent: 'no traceparent' }, async () => undefined);
  const spans = await Promise.all(['cause', 'outer', 'inner', 'other'].map(arrived));
  const [first, outer, within, other] = spans;
  expect(outer).toMatchObject({ traceId: first?.traceId, parentSpanId: first?.spanId, service: 'faretrail-worker' });
  expect(within).toMatchObject({ traceId: first?.traceId, parentSpanId: outer?.spanId });
  expect(other?.traceId).not.toBe(first?.traceId);
  expect(receiver.text()).toContain('deployment.environment');
});

it.each([
  ['an error of ours', new FaretrailError('SomeCode', 'hidden-text'), 'SomeCode'],
  ['a failure', ApplicationFailure.create({ type: 'SomeType', message: 'hidden-text' }), 'SomeType'],
  ['any error', new RangeError('hidden-text'), 'RangeError'],
  ['a poll without news', ApplicationFailure.create({ type: 'NotYet', category: 'BENIGN' }), undefined],
])('a span shows %s by its short code alone, and passes it on', async (name, error, message) => {
  await expect(tracing.span(about(name), () => Promise.reject(error))).rejects.toBe(error);
  expect((await arrived(name))?.status?.message).toBe(message);
  expect(receiver.text()).not.toContain('hidden-text');
});

it('a line that is logged within a span names it', async () => {
  const lines: string[] = [];
  const logger = createLogger({ level: 'info', process: 'worker' }, { write: (line) => void lines.push(line) });
  const traceparent = await tracing.span(about('logged'), async (span) => {
    logger.info('within');
    return span.traceparent;
  });
  logger.info('after');
  const [, trace_id, span_id] = traceparent.split('-');
  const [within, after] = lines.map((line) => JSON.parse(line));
  expect(within).toMatchObject({ msg: 'within', trace_id, span_id });
  expect(after).not.toHaveProperty('trace_id');
});

it('spans are sent as protobuf unless JSON is asked for', async () => {
  const logger = createLogger({ level: 'silent', process: 'ingress' });
  const other = await openTracing({ process: 'ingress', logger, protocol: 'http/protobuf' });
  await other.span(about('packed'), async () => undefined);
  await other.close();
  await expect.poll(() => receiver.types()).toContain('application/x-protobuf');
});
