import { randomBytes, randomUUID } from 'node:crypto';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createFaretrailClient } from '../../src/client/index.js';
import type { OrderId } from '../../src/domain/keys.js';
import type { Notify } from '../../src/domain/notify/receivers.js';
import { readTraceHeader } from '../../src/domain/trace-context.js';
import { followOrderId } from '../../src/domain/workflow-ids.js';
import { newRide } from '../dev/sandbox/booking-calls.js';
import { startNotifyReceiver } from '../support/notify/receiver.js';
import { shows, startFollowing } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { continued, eventsOf } from '../support/runs.js';
import { startTraceReceiver, type TraceReceiver } from '../support/server/trace-receiver.js';
import type { IngressProcess } from '../support/worker/process.js';
import { active, business, type DeliveryScene, openDeliveryScene } from './delivery-scene.js';

let collector: TraceReceiver;
let receiver: Awaited<ReturnType<typeof startNotifyReceiver>>;
let scene: DeliveryScene;
let ingress: IngressProcess;
beforeAll(async () => {
  [collector, receiver] = await Promise.all([startTraceReceiver(), startNotifyReceiver()]);
  const pace = { FARETRAIL_POLL_ACTIVE_MS: '1000', FARETRAIL_POLL_PUSHED_MS: '3600000' };
  scene = await openDeliveryScene({ ...collector.env, ...receiver.env, ...pace });
  scene.fleet.sandbox.setDeliverySettings({ enabled: false });
  ingress = await scene.startIngress();
  await active(await scene.subscribe('status_changed', ingress.url));
}, 120_000);
afterAll(async () => {
  await scene.close();
  await receiver.close();
  await collector.close();
}, 60_000);

interface Trace {
  id: string;
  traceparent: string;
}

function newTrace(): Trace {
  const id = randomBytes(16).toString('hex');
  return { id, traceparent: `00-${id}-${randomBytes(8).toString('hex')}-01` };
}

/** A client with an interceptor that puts the trace where those of all SDKs put it. */
function tracedClient(trace?: Trace): Client {
  const carrier = { traceparent: trace?.traceparent, tracestate: 'vendor=1', baggage: 'user=baggage-of-the-caller' };
  const headers: Headers = trace ? { '_tracer-data': defaultPayloadConverter.toPayload(carrier) } : {};
  const interceptor: WorkflowClientInterceptor = {
    startWithDetails: (input, next) => next({ ...input, headers }),
    signalWithStart: (input, next) => next({ ...input, headers }),
    startUpdate: (input, next) => next({ ...input, headers }),
  };
  const { connection } = scene.fleet.client;
  return new Client({ connection, interceptors: { workflow: [interceptor] } });
}

const callerWith = (trace?: Trace) =>
  createFaretrailClient({ client: tracedClient(trace), ...scene.fleet.place.config });

async function follow(trace?: Trace, more: Notify[] = []) {
  const orderId = scene.newOrder('Pending');
  const path = `/${randomUUID()}?secret=of-the-receiver`;
  const order = await callerWith(trace).follow({
    account: business,
    orderId,
    notify: [{ url: receiver.origin + path }, ...more],
  });
  await toldOf(path, 'Pending');
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
  const trace = newTrace();
  const { orderId, path } = await follow(trace);
  await deliver(orderId, newTrace()); // the first delivery makes the polls rare
  const trail = () => callerWith().get(business, orderId).trail();
  await vi.waitFor(async () => expect(await trail()).toMatchObject({ pushed: true, reads: 2 }), patient);
  scene.fleet.sandbox.setStatus('business', orderId, 'Driving');
  const sent = newTrace();
  await deliver(orderId, sent);
  await toldOf(path, 'Driving');
  expect(noticesAt(path).at(-1)?.traceparent.split('-')[1]).toBe(sent.id);
  const taken = await spanOf(sent, /^POST \/webhooks\/:account\/:eventType\/:capability$/);
  expect(taken.parentSpanId).toBe(sent.traceparent.split('-')[2]);
  expect(taken.attributes).toMatchObject({
    ...{ 'http.request.method': 'POST', 'http.route': '/webhooks/:account/:eventType/:capability' },
    ...{ 'http.response.status_code': 202, 'url.path': '/webhooks/business/status_changed/REDACTED' },
    'faretrail.outcome': 'accepted',
  });
  expect((await spanOf(sent, /^signal order$/)).attributes).toMatchObject({
    ...{ 'messaging.system': 'temporal', 'messaging.operation.type': 'send', 'messaging.destination.name': 'order' },
  });
  expect((await spanOf(sent, read)).parentSpanId).toBe(taken.spanId);
});

async function deliver(orderId: string, { traceparent }: Trace): Promise<void> {
  const [subscriber] = scene.fleet.sandbox.subscribers();
  const body = JSON.stringify({ event_type: 'status_changed', order_id: orderId, status: 'Driving', n: randomUUID() });
  const headers = { 'content-type': 'application/json', traceparent };
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
