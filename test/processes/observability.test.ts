import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { sandboxCredentials } from '../../dev/sandbox/sandbox.js';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { createFaretrailClient } from '../../src/client/index.js';
import type { OrderId } from '../../src/domain/keys.js';
import type { Notify } from '../../src/domain/notify/receivers.js';
import { readTraceHeader } from '../../src/domain/trace-context.js';
import { followOrderId } from '../../src/domain/workflow-ids.js';
import { newRide } from '../dev/sandbox/booking-calls.js';
import { describedMetrics, shownMetrics } from '../observability/metrics-table.js';
import { type NotifyReceiver, startNotifyReceiver } from '../support/notify/receiver.js';
import { shows, startFollowing } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { continued, eventsOf } from '../support/runs.js';
import { startTraceReceiver, type TraceReceiver } from '../support/server/trace-receiver.js';
import { usePostgres } from '../support/store/postgres.js';
import type { IngressProcess } from '../support/worker/process.js';
import { active, business, type DeliveryScene, openDeliveryScene } from './delivery-scene.js';

const page = (name: string): string => readFileSync(join(projectRoot, 'docs', name), 'utf8');

const postgres = usePostgres();
let collector: TraceReceiver;
let receiver: NotifyReceiver;
let scene: DeliveryScene;
let ingress: IngressProcess;
let workerUrl: string;
beforeAll(async () => {
  [collector, receiver] = await Promise.all([startTraceReceiver(), startNotifyReceiver()]);
  const port = String(await freePort());
  workerUrl = `http://127.0.0.1:${port}`;
  const pace = { FARETRAIL_POLL_ACTIVE_MS: '2000', FARETRAIL_POLL_PUSHED_MS: '3600000' };
  const store = { FARETRAIL_STORE_URL: postgres.url };
  scene = await openDeliveryScene({
    ...collector.env,
    ...receiver.env,
    ...pace,
    ...store,
    FARETRAIL_METRICS_PORT: port,
  });
  ingress = await scene.startIngress();
  await active(await scene.subscribe('status_changed', ingress.url));
  await followToItsEnd();
}, 600_000);
afterAll(async () => {
  await scene.close();
  await receiver.close();
  await collector.close();
}, 600_000);

/** An order whose first change a poll finds and whose second one a delivery announces. No notice may go to its URL. */
async function followToItsEnd(): Promise<void> {
  const { sandbox, place } = scene.fleet;
  const orderId = scene.newOrder('Pending');
  sandbox.setDeliverySettings({ enabled: false });
  const notify = [{ url: 'https://not-allowed.example/hook' }];
  const handle = await startFollowing(place, { account: business, orderId, notify });
  await shows(handle, { status: 'Pending' });
  const since = new Date().toISOString();
  sandbox.setStatus('business', orderId, 'CareReq');
  await shows(handle, { status: 'CareReq' });
  // The poll that finds it. The next one is an hour away.
  expect(sandbox.ledger({ orderId, since })).toHaveLength(1);
  sandbox.setDeliverySettings({ enabled: true });
  sandbox.setStatus('business', orderId, 'Completed');
  await handle.result();
  sandbox.setDeliverySettings({ enabled: false });
}

const metrics = async (url: string): Promise<string> => await (await fetch(`${url}/metrics`)).text();

it('worker and ingress show the metrics of docs/reference/metrics.md, with these types and labels, and no others of ours', async () => {
  await expect.poll(() => metrics(ingress.url)).toContain('\nfaretrail_forwarded_total{'); // counted after the signal
  const shown = shownMetrics(`${await metrics(workerUrl)}\n${await metrics(ingress.url)}`);
  const described = describedMetrics(page('reference/metrics.md'));
  const isOurs = ({ name }: { name: string }) => name.startsWith('faretrail_');
  const names = (list: { name: string }[]) => [...new Set(list.map(({ name }) => name))].sort();
  expect(names(shown.filter(isOurs))).toEqual(names(described.filter(isOurs)));
  for (const { name, type, labels } of shown) {
    const row = described.find((one) => one.name === name);
    if (row) expect({ name, type, labels: labels ?? row.labels }).toEqual(row);
  }
});

it('the worker counts each change of status, and how late it saw the change', async () => {
  const text = await metrics(workerUrl);
  for (const seenBy of ['first', 'read', 'delivery'])
    expect(text).toMatch(new RegExp(`^faretrail_status_changes_total{.*seen_by="${seenBy}".*} 1$`, 'm'));
  for (const seenBy of ['read', 'delivery'])
    expect(text).toMatch(new RegExp(`^faretrail_status_lag_seconds_count{.*seen_by="${seenBy}".*} 1$`, 'm'));
  expect(text).toMatch(/^faretrail_status_lag_seconds_bucket{.*seen_by="delivery".*le="60"} 1$/m);
  expect(text).toMatch(/^faretrail_order_ends_total{.*outcome="completed".*} 1$/m);
  expect(text).toMatch(/^faretrail_token_renewals_total{.*reason="first".*scope="order".*} 1$/m);
  expect(text).toMatch(/^faretrail_attention_runs{code="forbidden"} 0$/m);
  expect(text).toMatch(/^faretrail_followed_orders \d/m);
});

it('the worker keeps a fixed number of polls of an account open, so that each process gets as many of its calls', async () => {
  const samples = [...(await metrics(workerUrl)).matchAll(/^temporal_num_pollers\{(.*)\} (\d+)$/gm)];
  const ofAccount = samples.filter(
    ([, labels]) => /poller_type="activity_task"/.test(labels ?? '') && /\.business"/.test(labels ?? ''),
  );
  expect(ofAccount.map(([, , open]) => open)).toEqual(['10']);
});

interface Trace {
  id: string;
  traceparent: string;
}

function newTrace(): Trace {
  const id = randomBytes(16).toString('hex');
  return { id, traceparent: `00-${id}-${randomBytes(8).toString('hex')}-01` };
}

/** A client with an interceptor that puts the trace where those of all SDKs put it. */
function tracedClient(trace: Trace): Client {
  const carrier = { traceparent: trace.traceparent, tracestate: 'vendor=1', baggage: 'user=baggage-of-the-caller' };
  const headers: Headers = { '_tracer-data': defaultPayloadConverter.toPayload(carrier) };
  const interceptor: WorkflowClientInterceptor = {
    startWithDetails: (input, next) => next({ ...input, headers }),
    signalWithStart: (input, next) => next({ ...input, headers }),
    startUpdate: (input, next) => next({ ...input, headers }),
  };
  const { connection } = scene.fleet.client;
  return new Client({ connection, interceptors: { workflow: [interceptor] } });
}

const callerWith = (trace: Trace) =>
  createFaretrailClient({ client: tracedClient(trace), ...scene.fleet.place.config });

async function follow(trace: Trace, more: Notify[] = [], status = 'Pending') {
  const orderId = scene.newOrder(status);
  const path = `/${randomUUID()}?secret=of-the-receiver`;
  const order = await callerWith(trace).follow({
    account: business,
    orderId,
    notify: [{ url: receiver.origin + path }, ...more],
  });
  await toldOf(path, status);
  return { orderId, path, order };
}

const noticesAt = (path: string) => receiver.received.filter((one) => one.path === path);
const toldOf = (path: string, status: string) =>
  vi.waitFor(() => expect(noticesAt(path).at(-1)?.event.data).toMatchObject({ rawStatus: status }), patient);

const spansOf = ({ id }: Trace) => collector.spans().filter(({ traceId }) => traceId === id);
/** Resolves with the span of this trace whose name has this form. */
const spanOf = (trace: Trace, name: RegExp) =>
  vi.waitFor(() => {
    const found = spansOf(trace).find((span) => name.test(span.name));
    if (!found) throw new Error(`no span ${name} among ${spansOf(trace).map((span) => span.name)}`);
    return found;
  }, patient);

const read = /^activity readOrder$/;
const call = /^GET \/v1\/orders/;

it("reads and notices of an order go on with the caller's trace, the receiver of the notices may go on with it, and no span holds a secret", async () => {
  const trace = newTrace();
  const { orderId, path } = await follow(trace);
  scene.fleet.sandbox.setStatus('business', orderId, 'Driving');
  await toldOf(path, 'Driving');
  const notices = noticesAt(path).map(({ traceparent }) => traceparent);
  expect(notices.map((traceparent) => traceparent.split('-')[1])).toEqual([trace.id, trace.id]);
  const called = await spanOf(trace, call);
  const told = await spanOf(trace, /^activity notifyUrl$/);
  const byId = (id?: string) => spansOf(trace).find(({ spanId }) => spanId === id);
  await vi.waitFor(() => expect(byId(called.parentSpanId)?.name).toMatch(read), patient);
  expect(byId(called.parentSpanId)?.parentSpanId).toBe(trace.traceparent.split('-')[2]);
  expect(notices.map((traceparent) => traceparent.split('-')[2])).toContain(
    spansOf(trace).find((span) => span.parentSpanId === told.spanId)?.spanId,
  );

  // The attributes are those of the conventions, and none may hold a secret.
  const { hostname, port } = new URL(receiver.origin);
  const posted = spansOf(trace).find(({ parentSpanId }) => parentSpanId === told.spanId);
  expect(posted?.attributes).toEqual({
    ...{ 'http.request.method': 'POST', 'http.response.status_code': 204 },
    ...{ 'server.address': hostname, 'server.port': Number(port), 'url.full': `${receiver.origin}/REDACTED` },
  });
  const service = new URL(scene.fleet.sandbox.url);
  expect(called.attributes).toEqual({
    ...{ 'http.request.method': 'GET', 'http.response.status_code': 200, 'url.template': '/v1/orders/{order_id}' },
    ...{ 'server.address': service.hostname, 'server.port': Number(service.port) },
    'url.full': expect.stringMatching(new RegExp(`^${service.origin}.*/v1/orders/${orderId}$`)),
    ...{ 'faretrail.account': 'business', 'faretrail.operation': 'orderDetails' },
  });
  expect(told.attributes).toEqual({
    ...{
      'messaging.system': 'temporal',
      'messaging.operation.name': 'activity',
      'messaging.operation.type': 'process',
    },
    'messaging.destination.name': scene.fleet.env.FARETRAIL_TASK_QUEUE,
    'faretrail.attempt': 1,
    temporalWorkflowID: expect.stringMatching(`^notices/order/business/${orderId}/[^/]+/0$`),
    temporalRunID: expect.any(String),
  });
  for (const secret of [path, 'of-the-receiver', 'baggage-of-the-caller'])
    expect(collector.text()).not.toContain(secret);
});

it("the reads and notices after a delivery go on with its sender's trace", async () => {
  const { orderId, path } = await follow(newTrace(), [], 'CareReq'); // polls of such an order are an hour apart
  scene.fleet.sandbox.setStatus('business', orderId, 'Driving');
  const sent = newTrace();
  await deliver(orderId, sent);
  await toldOf(path, 'Driving');
  expect(noticesAt(path).at(-1)?.traceparent.split('-')[1]).toBe(sent.id);
  const taken = await spanOf(sent, /^POST \/webhooks\/:account\/:eventType\/:capability$/);
  expect(taken).toMatchObject({ parentSpanId: sent.traceparent.split('-')[2], service: 'faretrail-ingress' });
  expect(taken.attributes).toMatchObject({
    ...{ 'http.request.method': 'POST', 'http.route': '/webhooks/:account/:eventType/:capability' },
    ...{ 'http.response.status_code': 202, 'url.path': '/webhooks/business/status_changed/REDACTED' },
    'faretrail.outcome': 'accepted',
  });
  expect((await spanOf(sent, /^signal order$/)).attributes).toMatchObject({
    ...{ 'messaging.system': 'temporal', 'messaging.operation.type': 'send', 'messaging.destination.name': 'order' },
  });
  expect(await spanOf(sent, read)).toMatchObject({ parentSpanId: taken.spanId, service: 'faretrail-worker' });
  await spanOf(sent, call);
});

async function deliver(orderId: string, { traceparent }: Trace): Promise<void> {
  const [subscriber] = scene.fleet.sandbox.subscribers();
  const body = JSON.stringify({ event_type: 'status_changed', order_id: orderId, status: 'Driving', n: randomUUID() });
  const mac = createHmac('sha256', subscriber?.secretId ?? '')
    .update(body)
    .digest('base64');
  const headers = { 'content-type': 'application/json', traceparent, 'x-signature': `sha256=${mac}` };
  const answer = await fetch(subscriber?.hookAddress ?? '', { method: 'POST', headers, body });
  expect(answer.status).toBe(202);
}

it("what a person asks for goes on with that person's trace", async () => {
  const { orderId } = await follow(newTrace());
  const asked = newTrace();
  await callerWith(asked).get(business, orderId).refresh();
  await spanOf(asked, call);
});

it('an order that a ride makes goes on with the trace of the caller of the ride', async () => {
  const trace = newTrace();
  const ride = await callerWith(trace).request({ account: business, requestId: randomUUID(), order: newRide() });
  await spanOf(trace, /^POST \/v1\/orders$/);
  await spanOf(trace, call);
  expect(spansOf(trace).map(({ attributes }) => attributes.temporalWorkflowID)).toContain(
    followOrderId({ account: business, orderId: (await ride.status()).orderId as OrderId }),
  );
});

it('a run that continues as new goes on with the trace', async () => {
  const trace = newTrace();
  const place = { ...scene.fleet.place, client: tracedClient(trace) };
  const orderId = scene.newOrder('Pending');
  const handle = await startFollowing(
    place,
    { account: business, orderId },
    { limits: { maxEvents: 5, maxSignals: 99 } },
  );
  await shows(handle, { status: 'Pending' });
  scene.fleet.sandbox.setStatus('business', orderId, 'Driving');
  await continued(handle);
  const runIds = () => new Set(spansOf(trace).flatMap(({ attributes }) => attributes.temporalRunID ?? []));
  await vi.waitFor(() => expect(runIds().size).toBeGreaterThan(1), patient);
});

it("the last notices and those to workflows go on with the caller's trace, too", async () => {
  const trace = newTrace();
  const workflowId = `receiver-${randomUUID()}`;
  const told = await scene.fleet.client.workflow.start('receiver', { workflowId, taskQueue: `none-${workflowId}` });
  const { orderId, path, order } = await follow(trace, [{ workflowId, signal: 'rideChanged' }]);
  receiver.answer(path, 503, 204);
  scene.fleet.sandbox.setStatus('business', orderId, 'Completed');
  await order.result();
  await toldOf(path, 'Completed');
  await vi.waitFor(() => {
    const ids = spansOf(trace).map(({ attributes }) => String(attributes.temporalWorkflowID));
    expect(ids.some((id) => id.startsWith('notices/'))).toBe(true);
  }, patient);
  const signals = (await eventsOf(told)).flatMap((event) => event.workflowExecutionSignaledEventAttributes ?? []);
  const headers = signals.map(({ header }) => readTraceHeader(header?.fields?.['_tracer-data'] ?? undefined));
  expect(headers.length).toBeGreaterThan(1);
  for (const header of headers) expect(header).toBe(trace.traceparent);
  await told.terminate();
});

it('logs are JSON lines with the fields of docs/reference/logs-and-traces.md; no secret stands in them or in traces', () => {
  const [, table = ''] = /## Logs\n([\s\S]*?)\n## /.exec(page('reference/logs-and-traces.md')) ?? [];
  const output = [ingress, ...scene.fleet.workers].map((process) => process.output()).join('');
  const texts = output.trim().split('\n');
  const lines = texts.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(new Set(lines.map(({ process }) => process))).toEqual(new Set(['ingress', 'worker']));
  const usual = { level: expect.any(String), time: expect.stringMatching(/Z$/), msg: expect.any(String) };
  for (const line of lines) expect(line).toMatchObject(usual);
  const fields = [...new Set(lines.flatMap((line) => Object.keys(line)))];
  expect(fields.filter((field) => !table.includes(`\`${field}\``))).toEqual([]);
  const { env, sandbox } = scene.fleet;
  const keys = ['FARETRAIL_SEALING_KEYS', 'FARETRAIL_WEBHOOK_KEYS'].map((name) => env[name]?.split(':')[1] ?? '');
  const hooks = sandbox.subscribers();
  const subscribers = hooks.flatMap(({ secretId, hookAddress }) => [secretId, hookAddress.split('/').pop() ?? '']);
  for (const secret of [...sandbox.issuedTokens(), ...keys, ...subscribers, sandboxCredentials.business.clientSecret]) {
    expect(secret?.length).toBeGreaterThan(8);
    expect(output + collector.text()).not.toContain(secret);
  }
});
