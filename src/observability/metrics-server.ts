import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { cannotListen } from '../domain/errors.js';

/** What the pages show. */
export interface MetricsPages {
  registry: Registry;
  /** The exporter of the Temporal SDK. `/metrics` appends its text to ours, so that one target shows all. */
  sdkMetricsUrl?: string;
  isLive(): boolean;
  /** The reason in one line, without secrets; null when ready. */
  whyNotReady(): string | null | Promise<string | null>;
}

export interface MetricsServerOptions extends MetricsPages {
  /** 0 takes any free port. */
  port: number;
  /** Where the port comes from, for the error. */
  setting: 'FARETRAIL_METRICS_PORT' | 'FARETRAIL_INGRESS_METRICS_PORT';
  /**
   * Default: every address, since scrapers and probes come from outside the container. The pages hold no secret and no
   * personal data, and the server runs only if the operator sets its port. The local stack passes 127.0.0.1.
   */
  host?: string;
}

interface Page {
  status: number;
  body: string;
  type?: string;
}

const sdkTimeoutMs = 2_000;

/** Serves `/metrics`, `/healthz` and `/readyz`. Throws `FaretrailError` `MetricsPortUnusable` when it cannot listen. */
export async function startMetricsServer(options: MetricsServerOptions) {
  const server = createServer((request, response) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    void readPage(isRead ? (request.url ?? '') : '', options).then(({ status, body, type }) => {
      response.writeHead(status, { 'content-type': type ?? 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
      response.end(body);
    });
  });
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    async close(): Promise<void> {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listen(server: Server, { port, host, setting }: MetricsServerOptions): Promise<void> {
  try {
    server.listen(host === undefined ? { port } : { port, host });
    await once(server, 'listening');
  } catch (cause) {
    throw cannotListen('MetricsPortUnusable', { port: setting }, cause);
  }
}

/** The pages by their paths. */
export const pages = new Map<string, (options: MetricsPages) => Page | Promise<Page>>([
  ['/metrics', metricsPage],
  ['/healthz', (options) => probePage('live', options.isLive() ? null : 'stopped')],
  ['/readyz', async (options) => probePage('ready', await options.whyNotReady())],
]);

/** The page at this path. Never rejects. */
export async function readPage(url: string, options: MetricsPages): Promise<Page> {
  const [path = ''] = url.split('?');
  try {
    const found = await pages.get(path)?.(options);
    return found ?? { status: 404, body: `not found; try ${[...pages.keys()].join(', ')}\n` };
  } catch {
    return { status: 503, body: 'the check itself failed\n' };
  }
}

const probePage = (well: string, problem: string | null): Page => ({
  status: problem === null ? 200 : 503,
  body: `${problem ?? well}\n`,
});

async function metricsPage({ registry, sdkMetricsUrl }: MetricsPages): Promise<Page> {
  const own = await registry.metrics();
  const sdk = sdkMetricsUrl === undefined ? '' : await fetchSdkMetrics(sdkMetricsUrl);
  return { status: 200, body: own + sdk, type: registry.contentType };
}

/** The SDK adds these labels to the metrics that workflows count. In its own it names them as Prometheus advises. */
const withUsualLabels = (text: string): string =>
  text.replaceAll('taskQueue="', 'task_queue="').replaceAll('workflowType="', 'workflow_type="');

/** Gives a comment while the exporter is not up, since our metrics are of use without those of the SDK. */
async function fetchSdkMetrics(url: string): Promise<string> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(sdkTimeoutMs) });
    if (reply.ok) return withUsualLabels(await reply.text());
    await reply.body?.cancel();
  } catch {
    // The comment below says so.
  }
  return '# metrics of the Temporal SDK are not available\n';
}
