import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WorkerEnv } from '../accounts.js';

/** One span as it came, in the JSON of OTLP. */
interface ReceivedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  kind: number;
  attributes: Record<string, string | number>;
  status?: { code?: number; message?: string };
}

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number };
}

interface Export {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: (Omit<ReceivedSpan, 'service' | 'attributes'> & { attributes: Attribute[] })[];
    }[];
  }[];
}

/** A collector of traces. */
export type TraceReceiver = Awaited<ReturnType<typeof startTraceReceiver>>;

export async function startTraceReceiver() {
  const bodies: string[] = [];
  const types: (string | undefined)[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const type = request.headers['content-type'];
    if (request.url === '/v1/traces') types.push(type);
    if (request.url === '/v1/traces' && type === 'application/json') bodies.push(Buffer.concat(chunks).toString());
    response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    /** For the environment of the processes that send traces. */
    env: {
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      OTEL_BSP_SCHEDULE_DELAY: '100',
    } as WorkerEnv,
    spans: (): ReceivedSpan[] => bodies.flatMap((body) => spansOf(JSON.parse(body) as Export)),
    /** The content types of all that came. */
    types: () => types,
    /** All that came, as text. */
    text: () => bodies.join('\n'),
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const spansOf = ({ resourceSpans }: Export): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
    const read = (attributes: Attribute[]) =>
      Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
    return scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({ service, ...span, attributes: read(span.attributes) })),
    );
  });
