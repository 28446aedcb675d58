import { describe, expect, it, onTestFinished } from 'vitest';
import type { DeliveryShape } from '../../sandbox/delivery-bodies.js';
import type { DeliveryChange } from '../../sandbox/delivery-settings.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../sandbox/sandbox.js';
import { quietOrder } from './calls.js';
import { type Receiver, startReceiver } from './receiver.js';

const capability = '1.the-mac-in-the-path';

let sandbox: Sandbox;
let receiver: Receiver;
async function start(deliveries: DeliveryChange = {}, options: SandboxOptions = {}): Promise<void> {
  receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  sandbox = await startSandbox({ speed: 1_000, deliveries, ...options });
  onTestFinished(() => sandbox.close());
}
const subscribe = (eventType: 'status_changed' | 'business_report' = 'status_changed') =>
  sandbox.addSubscriber({ hookAddress: `${receiver.url}/webhooks/${eventType}/${capability}`, eventType });
const startSubscribed = (...args: Parameters<typeof start>) => start(...args).then(() => subscribe());
const told = () => receiver.received.map(({ json }) => `${json?.order_id} ${json?.status}`);
const bodies = () => new Set(receiver.received.map(({ body }) => body.toString()));
const hasReceived = (count: number) => expect.poll(() => receiver.received.length).toBe(count);
/** Long enough for a delivery that should not come. */
const aMoment = () => new Promise((resolve) => setTimeout(resolve, 150));

const ride = (orderId: string, at: 'business' | 'partner' = 'business') => ({
  interface: at,
  orderId,
  script: ['Pending', 'Routing', 'Confirmed', 'Completed'].map((status, i) => ({ status, afterMs: i * 100_000 })),
});
/** An order that has just become `Confirmed`. */
function changed(orderId: string): void {
  sandbox.addOrder(quietOrder('business', orderId));
  sandbox.setStatus('business', orderId, 'Confirmed');
}

describe('a change of an order', () => {
  it('is told to every subscriber, in time and in order, and a report can follow', async () => {
    await start({ reportWhenCompleted: true });
    const subscribers = [subscribe(), subscribe()];
    const { id: reported } = subscribe('business_report');
    sandbox.addOrder(ride('b-1'));
    const expected = ['Routing', 'Confirmed', 'Completed'].map((status) => ({ status, answer: 202, attempt: 1 }));
    for (const { id: subscriberId } of subscribers)
      await expect.poll(() => sandbox.deliveries({ subscriberId })).toMatchObject(expected);
    await expect.poll(() => sandbox.deliveries({ subscriberId: reported })).toMatchObject([{ orderId: 'b-1' }]);
    expect(receiver.received[0]).toMatchObject({
      path: `/webhooks/status_changed/${capability}`,
      headers: { 'content-type': 'application/json' },
      json: {
        ...{ event_type: 'status_changed', order_id: 'b-1', status: 'Routing', previous_status: 'Pending' },
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/),
      },
    });
    const report = receiver.received.find(({ json }) => json?.event_type === 'business_report');
    expect(report?.json).toMatchObject({ order_id: 'b-1' });
    expect(report?.json).not.toHaveProperty('status');
  });

  it('is told to those alone who are subscribed when it happens', async () => {
    await start();
    changed('b-1');
    const { id } = subscribe();
    sandbox.setStatus('business', 'b-1', 'Waiting');
    await hasReceived(1);
    sandbox.removeSubscriber(id);
    sandbox.setStatus('business', 'b-1', 'Driving');
    subscribe();
    sandbox.setStatus('business', 'b-1', 'Completed');
    await hasReceived(2);
    expect(told()).toEqual(['b-1 Waiting', 'b-1 Completed']);
  });

  it('of a partner order is told only on request, and the first status too', async () => {
    await startSubscribed();
    sandbox.addOrder(quietOrder('partner', 'p-1'));
    sandbox.setStatus('partner', 'p-1', 'Completed');
    await aMoment();
    expect(receiver.received).toEqual([]);
    sandbox.setDeliverySettings({ partnerOrders: true, firstStatus: true });
    sandbox.addOrder(ride('p-2', 'partner'));
    await hasReceived(4);
    expect(told()).toEqual(['Pending', 'Routing', 'Confirmed', 'Completed'].map((status) => `p-2 ${status}`));
  });

  it('can be lost, doubled and overtaken', async () => {
    await startSubscribed({ lost: 0.5, duplicated: 0.5, delayUpToMs: 100_000, retryDelaysMs: [] }, { seed: 5 });
    const ids = Array.from({ length: 60 }, (_, i) => `b-${i}`);
    ids.map(changed);
    const { lost } = sandbox.deliveryCounts();
    expect(Math.abs(lost - 30)).toBeLessThan(15);
    await expect.poll(() => new Set(told()).size).toBe(60 - lost);
    await aMoment();
    expect(receiver.received.length).toBeGreaterThan(60 - lost);
    const order = receiver.received.map(({ json }) => Number(String(json?.order_id).slice(2)));
    expect(order).not.toEqual([...order].sort((a, b) => a - b));
  });
});

describe('a delivery that is not answered with 2xx', () => {
  it('is sent again by the schedule, with the same bytes, until it is', async () => {
    await startSubscribed({ retryDelaysMs: [1, 20_000, 1] });
    receiver.answer = () => ({ status: receiver.received.length < 3 ? 503 : 200 });
    changed('b-1');
    await hasReceived(3);
    await aMoment();
    expect(bodies().size).toBe(1);
    const attempts = sandbox.deliveries({ orderId: 'b-1' });
    expect(attempts.map(({ attempt, answer }) => `${attempt}: ${answer}`)).toEqual(['1: 503', '2: 503', '3: 200']);
    expect(Date.parse(attempts[2]?.at ?? '') - Date.parse(attempts[1]?.at ?? '')).toBeGreaterThanOrEqual(19);
    const counts = { attempts: 3, delivered: 1, lost: 0, retrying: 0, givenUp: 0, byAnswer: { 200: 1, 503: 2 } };
    expect(sandbox.deliveryCounts()).toMatchObject(counts);
  });

  it('is given up at the end of the schedule, or when its subscriber leaves', async () => {
    const { id } = await startSubscribed({ retryDelaysMs: [1] });
    receiver.answer = () => ({ status: 401 });
    changed('b-1');
    await expect.poll(() => sandbox.deliveryCounts()).toMatchObject({ givenUp: 1, byAnswer: { 401: 2 } });
    sandbox.setDeliverySettings({ retryDelaysMs: [1_500_000] });
    changed('b-2');
    await expect.poll(() => sandbox.deliveryCounts().retrying).toBe(1);
    sandbox.removeSubscriber(id);
    await expect.poll(() => sandbox.deliveryCounts()).toMatchObject({ retrying: 0, givenUp: 2 });
  });

  it('may have had no answer at all, or too late', async () => {
    await startSubscribed({ retryDelaysMs: [], timeoutMs: 1_000 });
    receiver.answer = () => ({ status: 200, afterMs: 5_000 });
    expect(await sandbox.deliver({})).toMatchObject({ sent: 1, delivered: 0, byAnswer: { none: 1 } });
    await receiver.close();
    await sandbox.deliver({});
    expect(sandbox.deliveries().map(({ failure }) => failure)).toEqual(['TIMEOUT', 'ECONNREFUSED']);
  });
});

describe('deliveries on demand', () => {
  const about = { orderIds: ['b-1'], statuses: ['Driving'] };
  const shapes: [DeliveryShape, object][] = [
    ['nested', { event_type: 'status_changed', order: { id: 'b-1', status: 'Driving' } }],
    ['data', { event_type: 'status_changed', data: { order_id: 'b-1', status: 'Driving' } }],
    ['dataOrder', { data: { order: { id: 'b-1', status: 'Driving' } } }],
    ['value', { event_type: 'status_changed', value: { order_id: 'b-1', status: 'Driving' } }],
    ['valueOrder', { value: { order: { id: 'b-1', status: 'Driving' } } }],
  ];
  it.each(shapes)('can have the shape %s', async (shape, json) => {
    await startSubscribed();
    await sandbox.deliver({ ...about, shape });
    expect(receiver.received[0]?.json).toEqual(json);
  });

  it('can have a shape and a secret of their own for one subscriber', async () => {
    const { id, secretId } = await startSubscribed();
    const secret = { mode: 'header', name: 'x-own' } as const;
    sandbox.setDeliverySettings({ bySubscriber: { [id]: { shape: 'value', secret } } });
    await sandbox.deliver(about);
    const told = { headers: { 'x-own': secretId }, json: { value: { order_id: 'b-1' } } };
    expect(receiver.received[0]).toMatchObject(told);
  });

  it('go to all orders with all statuses, in order or in reverse, as copies of one or as different ones', async () => {
    await startSubscribed();
    const many = { orderIds: ['o-1', 'o-2'], statuses: ['Driving', 'Completed'] };
    await sandbox.deliver(many);
    const inOrder = ['o-1 Driving', 'o-1 Completed', 'o-2 Driving', 'o-2 Completed'];
    expect(told()).toEqual(inOrder);
    await sandbox.deliver({ ...many, arrangement: 'reversed' });
    expect(told().slice(4)).toEqual(inOrder.reverse());
    receiver.received.length = 0;
    await sandbox.deliver({ ...about, copies: 3 });
    expect([receiver.received.length, bodies().size]).toEqual([3, 1]);
    await sandbox.deliver({ ...about, count: 3 });
    expect([receiver.received.length, bodies().size]).toEqual([6, 4]);
  });

  it('can come by the thousand, as many at a time as the command says', async () => {
    await startSubscribed({ timeoutMs: 60_000 }, { speed: 1 });
    const report = await sandbox.deliver({ ...about, count: 2_000, concurrency: 64 });
    expect(report).toMatchObject({ sent: 2_000, delivered: 2_000, byAnswer: { 202: 2_000 } });
    expect(bodies().size).toBe(2_000);
    expect(receiver.mostOpen).toBeGreaterThan(8);
    expect(receiver.mostOpen).toBeLessThanOrEqual(64);
    expect(receiver.connections).toBeLessThanOrEqual(256); // kept alive: a few more than at work at a time
  });
});

describe('the record of deliveries', () => {
  it('never holds a secret, an address or a body', async () => {
    const { id, secretId } = await startSubscribed({ secret: { mode: 'header', name: 'X-Check' } });
    await sandbox.deliver({ orderIds: ['b-1'], flaw: 'wrongPath' });
    await sandbox.deliver({ orderIds: ['b-1'] });
    const deliveries = sandbox.deliveries({ subscriberId: id, orderId: 'b-1' });
    expect(deliveries).toMatchObject([{ flaw: 'wrongPath' }, { delivery: 2, cause: 'command', answer: 202 }]);
    const text = JSON.stringify([deliveries, sandbox.deliveryCounts(), sandbox.deliverySettings()]);
    for (const secret of [secretId, capability, 'timestamp']) expect(text).not.toContain(secret);
  });
});

it('a sandbox does not start with settings of deliveries that are wrong', async () => {
  await expect(startSandbox({ deliveries: { timeoutMs: 0 } })).rejects.toThrow(/timeoutMs/);
});
