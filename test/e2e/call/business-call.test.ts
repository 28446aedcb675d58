import { randomUUID } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { afterEach, describe, expect, it } from 'vitest';
import type { FaultInput } from '../../../dev/sandbox/faults.js';
import type { BusinessCallInput, BusinessOperation } from '../../../src/domain/call.js';
import { toOrderId } from '../../../src/domain/keys.js';
import { newRide } from '../../dev/sandbox/booking-calls.js';
import { referenceFieldId, startCall } from '../../support/call/calls.js';
import { useOrderStack } from '../../support/order/stack.js';
import { failureOf, repeatsCreates } from '../../support/ride/rides.js';
import { attributeOf } from '../../support/runs.js';

const stack = useOrderStack({ env: repeatsCreates });
afterEach(() => stack.sandbox.clearFaults());

const start = (operation: BusinessOperation, more: Partial<BusinessCallInput> = {}) =>
  startCall(stack, operation, more);
const call = async (operation: BusinessOperation, more: Partial<BusinessCallInput> = {}) =>
  (await start(operation, more)).result();
const failed = (operation: BusinessOperation, more: Partial<BusinessCallInput> = {}) =>
  failureOf(call(operation, more));
const ordersWith = (requestId: string) =>
  stack.sandbox.createdOrders().filter((created) => created.requestId === requestId);
const living = () => ({ orderId: toOrderId(stack.newOrder('business', [['Routing', 0]])) });
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
  const orderId = await created({ scheduled_at: inHours(5) });
  const changed = inHours(7);
  expect(await call('updateOrder', { orderId, body: { scheduled_at: changed } })).toMatchObject({
    operation: 'updateOrder',
  });
  const details = await call('orderDetails', { orderId });
  expect(details).toMatchObject({ status: 200, body: { id: orderId, status: 'Reserved', scheduled_at: changed } });
  expect(await call('cancelOrder', { orderId })).toEqual({ operation: 'cancelOrder', status: 204, body: null });
  expect(await call('orderReceipt', { orderId })).toMatchObject({ body: { payment_summary: expect.any(Object) } });
  const value = `C${Date.now()}`;
  const codes = await call('addReferenceCode', { referenceFieldId, body: [{ value }] });
  expect(codes.body).toMatchObject({ has_errors: false, data: [{ value }] });
  const scopes = stack.sandbox
    .ledger()
    .filter(({ operation }) => operation !== 'businessToken')
    .map(({ operation, scope }) => `${operation}: ${scope}`);
  expect(scopes).toEqual([
    'companySettings: order',
    'products: order',
    'createOrder: order',
    'updateOrder: order',
    'orderDetails: order',
    'cancelOrder: order',
    'orderReceipt: finance',
    'addReferenceCode: company.reference',
  ]);
  expect(stack.sandbox.counts().tokensIssued).toBe(3);
});

describe('the key of a call', () => {
  it('never makes a second effect: it is one run for ever', async () => {
    const key = randomUUID();
    const first = await start('createOrder', { key, body: newRide() });
    await start('createOrder', { key, body: newRide() }).catch(() => undefined);
    const { orderId } = await first.result();
    await expect(start('createOrder', { key, body: newRide() })).rejects.toThrow(WorkflowExecutionAlreadyStartedError);
    expect(ordersWith(`call/business/createOrder/${key}`)).toMatchObject([{ orderId }]);
  });

  it('may be used for another operation, too', async () => {
    const key = randomUUID();
    await call('companySettings', { key });
    expect(await call('createOrder', { key, body: newRide() })).toMatchObject({ orderId: expect.any(String) });
  });
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

describe('what cannot be done comes back typed, and no run is left', () => {
  it.each<[string, BusinessOperation, () => Partial<BusinessCallInput>, string, string]>([
    ['a missing stop', 'createOrder', () => ({ body: newRide({ stops: [] }) }), 'InvalidInput', 'body.stops: must'],
    ['an unknown order', 'cancelOrder', () => ({ orderId: toOrderId('none') }), 'OrderNotFound', 'HTTP 404'],
    ['an order in progress', 'updateOrder', () => ({ ...living(), body: { note_to_driver: 'x' } }), 'Refused', '422'],
  ])('%s', async (_, operation, more, type, words) => {
    expect(await failed(operation, more())).toMatchObject({ type, message: expect.stringContaining(words) });
  });

  it('an unknown product, with the code of the service in the details', async () => {
    const failure = await failed('createOrder', { body: newRide({ product_id: randomUUID() }) });
    expect(failure).toMatchObject({ type: 'Refused', message: expect.stringContaining('PRODUCT_NOT_FOUND') });
    const words = { status: 422, code: 'PRODUCT_NOT_FOUND', message: null };
    expect(failure.details).toEqual([words]);
  });
});
