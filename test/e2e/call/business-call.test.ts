import { randomUUID } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { afterEach, describe, expect, it } from 'vitest';
import type { FaultInput } from '../../../sandbox/faults.js';
import type { BusinessCallInput, BusinessOperation } from '../../../src/domain/call.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { newOrder, referenceFieldId, startCall } from '../../support/call/calls.js';
import { useOrderStack } from '../../support/order/stack.js';
import { failureOf } from '../../support/ride/rides.js';
import { attributeOf, refusesInput } from '../../support/runs.js';

const stack = useOrderStack();
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
const created = async (more: object = {}) =>
  toOrderId((await call('createOrder', { body: newOrder(more) })).orderId ?? 'none');

describe('each operation', () => {
  it('is carried out under the token of its scope, one token for each scope, and listed by its account', async () => {
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
    const codes = await call('addReferenceCode', { referenceFieldId, body: [{ value: `C${Date.now()}` }] });
    expect(codes.body).toMatchObject({ has_errors: false, data: [{ id: expect.any(Number) }] });
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

  it('leaves out who the driver is', async () => {
    const orderId = toOrderId(stack.newOrder('business', [['Driving', 0]]));
    const { body } = await call('orderDetails', { orderId });
    expect(body).toMatchObject({ id: orderId, supplier: { driver: expect.any(Object) } });
    const { driver } = (body as { supplier: { driver: object } }).supplier;
    for (const field of ['name', 'phone', 'image_url']) expect(driver).not.toHaveProperty(field);
  });

  it('adds the reference codes that can be added, and reports each', async () => {
    const value = `D${Date.now()}`;
    await call('addReferenceCode', { referenceFieldId, body: [{ value }] });
    const { body } = await call('addReferenceCode', { referenceFieldId, body: [{ value }, { value: `${value}x` }] });
    expect(body).toMatchObject({ has_errors: true, data: [{ value: `${value}x` }], errors: [{ index: 0 }] });
  });
});

describe('the same key', () => {
  it('never makes a second effect: it is one run for ever', async () => {
    const key = randomUUID();
    const first = await start('createOrder', { key, body: newOrder() });
    await start('createOrder', { key, body: newOrder() }).catch(() => undefined);
    const { orderId } = await first.result();
    await expect(start('createOrder', { key, body: newOrder() })).rejects.toThrow(WorkflowExecutionAlreadyStartedError);
    expect(ordersWith(`call/business/createOrder/${key}`)).toMatchObject([{ orderId }]);
  });

  it('may stand for another operation, too', async () => {
    const key = randomUUID();
    await call('companySettings', { key });
    expect(await call('createOrder', { key, body: newOrder() })).toMatchObject({ orderId: expect.any(String) });
  });
});

describe('an answer that is lost', () => {
  const afterEffect: FaultInput[] = [
    { kind: 'dropConnection', when: 'answer' },
    { kind: 'dropConnection', when: 'middle' },
    { kind: 'serverError', when: 'answer' },
    { kind: 'unavailable', when: 'answer', retryAfterSeconds: 1 },
    { kind: 'html', when: 'answer' },
    { kind: 'malformedJson' },
    { kind: 'emptyBody' },
  ];

  it('after a create leads to one order, however it is lost', async () => {
    const calls = [];
    for (const fault of afterEffect) {
      stack.sandbox.setFault({ ...fault, operation: 'createOrder', times: 1 });
      const key = randomUUID();
      const handle = await start('createOrder', { key, body: newOrder() });
      const orders = () => ordersWith(`call/business/createOrder/${key}`);
      await expect.poll(orders).toHaveLength(1);
      calls.push({ fault, handle, orders });
    }
    for (const { fault, handle, orders } of calls) {
      const { orderId } = await handle.result();
      expect(orders(), JSON.stringify(fault)).toMatchObject([{ orderId }]);
    }
  });

  it('after a cancel leads to one cancel, however it is lost', async () => {
    const cancelling = afterEffect.map(async (fault) => {
      const orderId = await created();
      stack.sandbox.setFault({ ...fault, operation: 'cancelOrder', orderId, times: 1 });
      expect(await call('cancelOrder', { orderId })).toMatchObject({ operation: 'cancelOrder' });
      expect(await call('orderDetails', { orderId })).toMatchObject({ body: { status: 'Cancelled' } });
      expect(stack.sandbox.ledger({ orderId, operation: 'cancelOrder' }), JSON.stringify(fault)).toHaveLength(1);
    });
    await Promise.all(cancelling);
  });

  it('after codes were added counts them as added', async () => {
    const value = `E${Date.now()}`;
    stack.sandbox.setFault({ kind: 'dropConnection', when: 'answer', operation: 'addReferenceCode', times: 1 });
    const { body } = await call('addReferenceCode', { referenceFieldId, body: [{ value }] });
    expect(body).toMatchObject({ has_errors: false, data: [{ value }], errors: [] });
    expect(stack.sandbox.referenceCodes().filter((code) => code.value === value)).toHaveLength(1);
  });
});

describe('what cannot be done comes back typed, and no run is left', () => {
  const noStops = { ...newOrder(), stops: [] };
  const unknownProduct = newOrder({ product_id: randomUUID() });
  const badPhone = structuredClone(newOrder());
  for (const { user } of badPhone.stops[0]?.actions ?? []) user.phone = '+1 555 000 1111';

  const partner = { account: toAccountName('partner') };
  const odd = { colour: 'red' } as never;
  it.each<[string, BusinessOperation, () => Partial<BusinessCallInput>, string, string]>([
    ['a missing stop', 'createOrder', () => ({ body: noStops }), 'InvalidInput', 'body.stops: must hold at least one'],
    ['a bad phone', 'createOrder', () => ({ body: badPhone }), 'InvalidInput', 'user.phone: must be an international'],
    ['an unknown product', 'createOrder', () => ({ body: unknownProduct }), 'Refused', 'PRODUCT_NOT_FOUND'],
    ['an unknown order', 'cancelOrder', () => ({ orderId: toOrderId('none') }), 'OrderNotFound', 'HTTP 404'],
    ['an order in progress', 'updateOrder', () => ({ ...living(), body: { note_to_driver: 'x' } }), 'Refused', '422'],
    ['an unknown field', 'companySettings', () => odd, 'InvalidInput', 'unknown field "colour"'],
    ['a missing order', 'cancelOrder', () => ({}), 'InvalidInput', 'orderId: cancelOrder needs it'],
    ['the wrong interface', 'companySettings', () => partner, 'InvalidInput', 'partner interface'],
  ])('%s', async (_, operation, more, type, words) => {
    const failure = await failed(operation, more());
    expect(failure).toMatchObject({ type, message: expect.stringContaining(words) });
    expect(failure.message).not.toContain('555');
  });

  it('with the words of the service in the details', async () => {
    const [said] = (await failed('createOrder', { body: unknownProduct })).details ?? [];
    expect(said).toEqual({ status: 422, code: 'PRODUCT_NOT_FOUND', message: expect.stringContaining('product') });
  });

  it.each<[FaultInput, string]>([
    [{ kind: 'forbidden' }, 'Forbidden'],
    [{ kind: 'unauthorized' }, 'CredentialsRejected'],
    [{ kind: 'reply', status: 409, body: { status: 'error', error: { code: 'CONFLICT', message: 'No.' } } }, 'Refused'],
    [{ kind: 'redirect' }, 'Refused'],
    [{ kind: 'errorInSuccess' }, 'Refused'],
  ])('when the service answers with $kind', async (fault, type) => {
    stack.sandbox.setFault({ ...fault, operation: 'createOrder' });
    expect(await failed('createOrder', { body: newOrder() })).toMatchObject({ type });
  });

  it('waits out what passes', async () => {
    stack.sandbox.setFault({ kind: 'tooManyRequests', retryAfterSeconds: 1, operation: 'createOrder', times: 1 });
    expect(await call('createOrder', { body: newOrder() })).toMatchObject({ status: 201 });
    stack.sandbox.setFault({ kind: 'dropConnection', operation: 'companySettings', times: 2 });
    expect(await call('companySettings')).toMatchObject({ status: 200 });
  });

  it('when its id is not made of its input', async () => {
    const workflowId = `call/business/companySettings/${randomUUID()}`;
    const args = [{ account: 'business', operation: 'companySettings', key: 'another' }];
    const start = { workflowId, taskQueue: stack.config.taskQueue, args };
    await refusesInput(stack.client.workflow.execute('businessCall', start), 'call/business/companySettings/another');
  });
});
