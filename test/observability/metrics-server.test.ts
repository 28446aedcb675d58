import { expect, it, onTestFinished } from 'vitest';
import { createWorkerMetrics } from '../../src/observability/metrics.js';
import { type MetricsServerOptions, startMetricsServer } from '../../src/observability/metrics-server.js';
import { serve } from '../ride-api/loopback-server.js';

async function start(options: Partial<MetricsServerOptions> = {}) {
  const metrics = createWorkerMetrics();
  const server = await startMetricsServer({
    ...{ port: 0, setting: 'FARETRAIL_METRICS_PORT', host: '127.0.0.1', registry: metrics.registry },
    isLive: () => true,
    whyNotReady: async () => null,
    ...options,
  });
  onTestFinished(() => server.close());
  const get = async (path: string, init?: RequestInit) => {
    const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, init);
    return { status: reply.status, type: reply.headers.get('content-type'), body: await reply.text() };
  };
  return { metrics, server, get };
}

const exporterOf = async (status: number, body: string) =>
  `${await serve((_, response) => void response.writeHead(status).end(body))}/metrics`;

it('/metrics shows what the worker counted', async () => {
  const { metrics, get } = await start();
  metrics.countTokenRequest({ account: 'partner', scope: '', outcome: 'ok' });
  metrics.countUpstreamCall({ account: 'partner', operation: 'orderStatus', outcome: 'ok' }, 0.2);
  const { status, type, body } = await get('/metrics');
  expect({ status, type }).toEqual({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' });
  expect(body).toContain('faretrail_token_requests_total{account="partner",scope="unscoped",outcome="ok"} 1');
  expect(body).toContain('faretrail_upstream_calls_total{account="partner",operation="orderStatus",outcome="ok"} 1');
  expect(body).toContain('faretrail_upstream_call_seconds_bucket{le="0.25",operation="orderStatus"} 1');
});

it('/metrics shows what polls found and how late they were, and the watches that the worker holds now', async () => {
  const { metrics, get } = await start();
  metrics.pollEvents.polled('partner', 'unchanged', 200);
  const watch = { account: { name: 'partner' }, polls: { size: 7, lateMs: 1_500 } };
  let held = [watch];
  metrics.showWatches(() => held);
  const { body } = await get('/metrics');
  expect(body).toContain('faretrail_polls_total{account="partner",outcome="unchanged"} 1');
  expect(body).toContain('faretrail_poll_lateness_seconds_bucket{le="0.25"} 1');
  expect(body).toContain('faretrail_watched_orders{account="partner"} 7');
  expect(body).toContain('faretrail_watch_lateness_seconds{account="partner"} 1.5');
  held = [];
  expect((await get('/metrics')).body).not.toMatch(/^faretrail_watch/m);
});

it('/metrics adds the metrics of the Temporal SDK, with the labels that it adds named as in the others', async () => {
  const page = 'faretrail_notices_total{namespace="n",taskQueue="q",workflowType="w",outcome="workflowType"} 1\n';
  const { get } = await start({ sdkMetricsUrl: await exporterOf(200, page) });
  const shown = 'faretrail_notices_total{namespace="n",task_queue="q",workflow_type="w",outcome="workflowType"} 1\n';
  const { body } = await get('/metrics');
  expect(body.endsWith(`\n${shown}`) && body.includes('faretrail_token_requests_total')).toBe(true);
});

it('/metrics shows our metrics alone while those of the SDK are not available', async () => {
  const { get } = await start({ sdkMetricsUrl: await exporterOf(500, 'oops') });
  const { status, body } = await get('/metrics');
  expect(status).toBe(200);
  expect(body).toMatch(/# metrics of the Temporal SDK are not available\n$/);
});

it('/healthz tells a process that lives from one that has stopped', async () => {
  let live = true;
  const { get } = await start({ isLive: () => live });
  expect(await get('/healthz')).toMatchObject({ status: 200 });
  live = false;
  expect(await get('/healthz')).toMatchObject({ status: 503 });
});

it('/readyz gives the reason while the worker is not ready, but not why the check itself fails', async () => {
  let reason: string | null = 'Temporal does not answer';
  const { get } = await start({ whyNotReady: async () => reason });
  expect(await get('/readyz')).toMatchObject({ status: 503, body: 'Temporal does not answer\n' });
  reason = null;
  expect(await get('/readyz?verbose')).toMatchObject({ status: 200 });
  const failing = await start({ whyNotReady: () => Promise.reject(new Error('hidden-value')) });
  const body = expect.not.stringContaining('hidden-value');
  expect(await failing.get('/readyz')).toMatchObject({ status: 503, body });
});

it('the metrics server knows no other page and changes nothing', async () => {
  const { get } = await start();
  expect(await get('/')).toMatchObject({ status: 404 });
  expect(await get('/healthz', { method: 'POST' })).toMatchObject({ status: 404 });
});

it('the metrics server names the setting when its port is taken', async () => {
  const { server } = await start();
  const message = 'FARETRAIL_METRICS_PORT: another program listens at this port (EADDRINUSE)';
  await expect(start({ port: server.port })).rejects.toMatchObject({ code: 'MetricsPortUnusable', message });
});

it('the metrics server closes although a scraper keeps its connection open', async () => {
  const { server, get } = await start();
  await get('/healthz');
  await server.close();
  await expect(get('/healthz')).rejects.toThrow();
});
