import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { FaultInput } from '../../../dev/sandbox/faults.js';
import { sandboxProducts } from '../../../dev/sandbox/ride/catalogue.js';
import { createFaretrailClient, type FaretrailClient } from '../../../src/client/index.js';
import type { BusinessCallInput, BusinessOperation } from '../../../src/domain/call.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { newRide } from '../../dev/sandbox/booking-calls.js';
import { referenceFieldId, startCall } from '../../support/call/calls.js';
import { useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { repeatsCreates } from '../../support/ride/rides.js';
import { attributeOf, eventsOf, isFailing, pendingOf, timersOf } from '../../support/runs.js';

const stack = useOrderStack({ env: repeatsCreates });
let rides: FaretrailClient;
beforeAll(() => {
  rides = createFaretrailClient({ client: stack.client, taskQueue: stack.config.taskQueue });
});
afterEach(() => stack.sandbox.clearFaults());

const start = (operation: BusinessOperation, more: Partial<BusinessCallInput> = {}) =>
  startCall(stack, operation, more);
const call = async (operation: BusinessOperation, more: Partial<BusinessCallInput> = {}) =>
  (await start(operation, more)).result();
const ordersWith = (requestId: string) =>
  stack.sandbox.createdOrders().filter((created) => created.requestId === requestId);
const trip = { origin: { lat: 51.5, lng: -0.12 }, destination: { lat: 51.52, lng: -0.1 } };
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
const created = async (more: Record<string, unknown> = {}) =>
  toOrderId((await call('createOrder', { body: newRide(more) })).orderId ?? 'none');

it('each operation is carried out under the token of its scope, one token for each scope, and listed by its account', async () => {
  stack.sandbox.resetLedger();
  const settings = await start('companySettings');
  expect(await settings.result()).toMatchObject({ status: 200, body: { payment_types: expect.any(Array) } });
  expect(await attributeOf(settings, 'RideAccount')).toBe('business');
  const products = await call('products', { body: { origin: { lat: 51.5, lng: -0.12 } } });
  expect(JSON.stringify(products.body)).toContain('Standard');
  const estimate = await call('priceEstimate', { body: { ...trip, product_id: sandboxProducts.standard.id } });
  expect(estimate.body).toMatchObject({
    quote_id: expect.any(String),
    currency_code: 'GBP',
    price: { value: '48.00' },
  });
  const orderId = await created({ scheduled_at: inHours(5) });
  const changed = inHours(7);
  expect(await call('updateOrder', { orderId, body: { scheduled_at: changed } })).toMatchObject({
    operation: 'updateOrder',
  });
  const details = await call('orderDetails', { orderId });
  expect(details).toMatchObject({
    status: 200,
    body: { id: Number(orderId), status: 'Reserved', scheduled_at: changed },
  });
  expect(await call('cancelOrder', { orderId })).toEqual({ operation: 'cancelOrder', status: 204, body: null });
  expect(await call('orderReceipt', { orderId })).toMatchObject({ body: { payment_summary: expect.any(Object) } });
  const value = `C${Date.now()}`;
  const codes = await call('addReferenceCode', { referenceFieldId, body: [{ value }] });
  expect(codes.body).toMatchObject({ has_errors: false, data: [{ value }] });
  const mixed = await call('addReferenceCode', { referenceFieldId, body: [{ value: `D${value}` }, { value: 'A-1' }] });
  expect(mixed.body).toMatchObject({ has_errors: true, data: [{ value: `D${value}` }], errors: [{ index: 1 }] });
  const report = await call('orderReport', { body: { since: inHours(-24), to: inHours(24) } });
  expect(report).toMatchObject({ status: 200, body: { orders: expect.any(Array) } });
  const scopes = stack.sandbox
    .ledger()
    .filter(({ operation }) => operation !== 'businessToken')
    .map(({ operation, scope }) => `${operation}: ${scope}`);
  expect(scopes).toEqual([
    'companySettings: order',
    'products: order',
    'priceEstimate: order',
    'createOrder: order',
    'updateOrder: order',
    'orderDetails: order',
    'cancelOrder: order',
    'orderReceipt: finance',
    'addReferenceCode: company.reference',
    'addReferenceCode: company.reference',
    'orderReport: finance',
  ]);
  expect(stack.sandbox.counts().tokensIssued).toBe(3);
});

it('a key may be used for another operation, too', async () => {
  const key = randomUUID();
  await call('companySettings', { key });
  expect(await call('createOrder', { key, body: newRide() })).toMatchObject({ orderId: expect.any(String) });
});

/** The service has made the order when each of these comes. */
const afterEffect: FaultInput[] = [
  { kind: 'dropConnection', when: 'answer' },
  { kind: 'dropConnection', when: 'middle' },
  { kind: 'serverError', when: 'answer' },
  { kind: 'unavailable', when: 'answer', retryAfterSeconds: 1 },
  { kind: 'html', when: 'answer' },
  { kind: 'malformedJson' },
  { kind: 'emptyBody' },
];

it('a create whose answer is lost leads to one order, however it is lost', async () => {
  const calls = [];
  for (const fault of afterEffect) {
    stack.sandbox.setFault({ ...fault, operation: 'createOrder', times: 1 });
    const key = randomUUID();
    const handle = await start('createOrder', { key, body: newRide() });
    const orders = () => ordersWith(`call/business/createOrder/${key}`);
    await expect.poll(orders).toHaveLength(1);
    calls.push({ fault, handle, orders });
  }
  for (const { fault, handle, orders } of calls) {
    const { orderId } = await handle.result();
    expect(orders(), JSON.stringify(fault)).toMatchObject([{ orderId }]);
  }
});

const newRead = () => ({
  ...{ account: toAccountName('business'), operation: 'orderDetails' as const, key: randomUUID() },
  orderId: toOrderId(stack.newOrder('business', [['Driving', 0]])),
});
type NewRead = ReturnType<typeof newRead>;

const workflowOf = ({ key }: NewRead) => stack.client.workflow.getHandle(`call/business/orderDetails/${key}`);
const requestsOf = ({ orderId }: NewRead) => stack.sandbox.ledger({ operation: 'orderDetails', orderId }).length;

describe('a read', () => {
  it('that the service turns away is shown as an activity that Temporal retries, and a repeat adds no event', async () => {
    stack.sandbox.setFault({ kind: 'unavailable', operation: 'orderDetails', retryAfterSeconds: 1, times: 3 });
    const read = newRead();
    const result = rides.call(read);
    const run = workflowOf(read);
    await isFailing(run, 'attemptCall');
    const [pending] = await pendingOf(run);
    expect(pending).toMatchObject({ failure: expect.stringContaining('UPSTREAM_FAILED') });
    expect(await result).toMatchObject({ status: 200 });
    expect(requestsOf(read)).toBe(4);
    const scheduled = (await eventsOf(run)).filter((event) => event.activityTaskScheduledEventAttributes);
    expect(scheduled).toHaveLength(1);
    expect(await timersOf(run), 'but for the one after which it is shown').toEqual([60]);
  });

  it('of the same key joins the one under way, and gets the outcome of the ended one: one request in all', async () => {
    const read = newRead();
    const [one, two] = await Promise.all([rides.call(read), rides.call(read)]);
    expect(two).toEqual(one);
    stack.sandbox.setStatus('business', read.orderId, 'Completed');
    expect(await rides.call(read)).toEqual(one);
    expect(requestsOf(read)).toBe(1);
    const unknown = { ...newRead(), orderId: 'never-made' };
    const failed = await rides.call(unknown).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 'OrderNotFound' });
    await expect(rides.call(unknown)).rejects.toMatchObject({ message: (failed as Error).message });
  });

  it('that an operator ends says so by code', async () => {
    const reads = [newRead(), newRead()];
    for (const { orderId } of reads) stack.sandbox.setFault({ kind: 'serverError', orderId });
    const calls = reads.map((read) => rides.call(read));
    for (const call of calls) call.catch(() => undefined);
    await vi.waitFor(() => expect(reads.map(requestsOf)).not.toContain(0), patient);
    const [first, second] = reads.map(workflowOf);
    await first?.terminate('by an operator');
    await second?.cancel();
    await expect(calls[0]).rejects.toMatchObject({ code: 'Terminated' });
    await expect(calls[1]).rejects.toMatchObject({ code: 'Cancelled' });
  });
});
