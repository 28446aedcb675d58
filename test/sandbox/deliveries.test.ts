import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryChange } from '../../sandbox/delivery-settings.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../sandbox/sandbox.js';
import { controlSandbox } from '../../sandbox/sandbox-control.js';
import { quietOrder } from './calls.js';
import { type Receiver, startReceiver } from './receiver.js';

const speed = 1_000;
const capability = '1.the-mac-in-the-path';

let sandbox: Sandbox;
let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await sandbox.close();
  await receiver.close();
});

async function start(deliveries: DeliveryChange = {}, options: SandboxOptions = {}): Promise<void> {
  sandbox = await startSandbox({ speed, deliveries, ...options });
}
const subscribe = (eventType: 'status_changed' | 'business_report' = 'status_changed') =>
  sandbox.addSubscriber({ hookAddress: `${receiver.url}/webhooks/${eventType}/${capability}`, eventType });
const statuses = () => receiver.received.map(({ json }) => json?.status);
const hasReceived = (count: number) => expect.poll(() => receiver.received.length).toBe(count);
/** Long enough for a delivery that should not come. */
const aMoment = () => new Promise((resolve) => setTimeout(resolve, 150));

const ride = (orderId: string, at: 'business' | 'partner' = 'business') => ({
  interface: at,
  orderId,
  script: ['Pending', 'Routing', 'Confirmed', 'Completed'].map((status, i) => ({ status, afterMs: i * 100_000 })),
});

describe('a change of an order', () => {
  it('is told to everyone who has subscribed, in time and in order', async () => {
    await start();
    const subscribers = [subscribe(), subscribe()];
    subscribe('business_report');
    sandbox.addOrder(ride('b-1'));
    for (const { id: subscriberId } of subscribers) {
      await expect
        .poll(() => sandbox.deliveries({ subscriberId }))
        .toMatchObject(
          ['Routing', 'Confirmed', 'Completed'].map((status) => ({ orderId: 'b-1', status, answer: 202, attempt: 1 })),
        );
    }
    expect(receiver.received[0]).toMatchObject({
      path: `/webhooks/status_changed/${capability}`,
      headers: { 'content-type': 'application/json' },
      json: {
        event_type: 'status_changed',
        order_id: 'b-1',
        status: 'Routing',
        previous_status: 'Pending',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/),
      },
    });
  });

  it('is told when it is made by hand', async () => {
    await start();
    subscribe();
    sandbox.addOrder(quietOrder('business', 'b-1'));
    sandbox.setStatus('business', 'b-1', 'Confirmed');
    await hasReceived(1);
    sandbox.setStatus('business', 'b-1', 'Completed');
    await hasReceived(2);
    sandbox.addOrder({ ...ride('b-2'), script: ride('b-2').script.map((step, i) => ({ ...step, afterMs: i * 1e9 })) });
    sandbox.advance('business', 'b-2');
    await hasReceived(3);
    expect(statuses()).toEqual(['Confirmed', 'Completed', 'Routing']);
  });

  it('is not told to who subscribed later or has left', async () => {
    await start();
    sandbox.addOrder(quietOrder('business', 'b-1'));
    sandbox.setStatus('business', 'b-1', 'Confirmed');
    const { id } = subscribe();
    sandbox.setStatus('business', 'b-1', 'Waiting');
    await hasReceived(1);
    sandbox.removeSubscriber(id);
    sandbox.setStatus('business', 'b-1', 'Driving');
    subscribe();
    sandbox.setStatus('business', 'b-1', 'Completed');
    await hasReceived(2);
    expect(statuses()).toEqual(['Waiting', 'Completed']);
  });

  it('is told of an order whose script goes on after somebody has subscribed', async () => {
    await start();
    sandbox.addOrder({ ...ride('b-1'), script: ride('b-1').script.map((step, i) => ({ ...step, afterMs: i * 1e5 })) });
    subscribe();
    await hasReceived(3);
    expect(statuses()).toEqual(['Routing', 'Confirmed', 'Completed']);
  });

  it('of a partner order is told only on request, and the first status too', async () => {
    await start();
    subscribe();
    sandbox.addOrder(quietOrder('partner', 'p-1'));
    sandbox.setStatus('partner', 'p-1', 'Completed');
    await aMoment();
    expect(receiver.received).toEqual([]);
    sandbox.setDeliverySettings({ partnerOrders: true, firstStatus: true });
    sandbox.addOrder(ride('p-2', 'partner'));
    await hasReceived(4);
    expect(statuses()).toEqual(['Pending', 'Routing', 'Confirmed', 'Completed']);
  });

  it('is not told while deliveries are switched off', async () => {
    await start({ enabled: false });
    subscribe();
    sandbox.addOrder(quietOrder('business', 'b-1'));
    sandbox.setStatus('business', 'b-1', 'Confirmed');
    sandbox.setDeliverySettings({ enabled: true });
    sandbox.setStatus('business', 'b-1', 'Completed');
    await hasReceived(1);
    expect(statuses()).toEqual(['Completed']);
  });

  it('to Completed can be followed by a report', async () => {
    await start({ reportWhenCompleted: true });
    subscribe('business_report');
    sandbox.addOrder(ride('b-1'));
    await hasReceived(1);
    expect(receiver.received[0]?.json).toEqual({
      event_type: 'business_report',
      order_id: 'b-1',
      business_id: expect.any(String),
      timestamp: expect.any(String),
    });
  });

  it('is told with no more deliveries at a time than are set', async () => {
    await start({ concurrency: 3 });
    subscribe();
    receiver.answer = () => ({ status: 200, afterMs: 10 });
    const ids = Array.from({ length: 30 }, (_, i) => `b-${i}`);
    for (const orderId of ids) sandbox.addOrder(quietOrder('business', orderId));
    for (const orderId of ids) sandbox.setStatus('business', orderId, 'Confirmed');
    await hasReceived(30);
    expect(receiver.mostOpen).toBe(3);
    expect(
      receiver.received
        .map(({ json }) => json?.order_id)
        .slice(0, 3)
        .toSorted(),
    ).toEqual(['b-0', 'b-1', 'b-2']);
  });

  it('can be lost, doubled and overtaken', async () => {
    await start({ lost: 0.5, duplicated: 0.5, delayUpToMs: 100_000, retryDelaysMs: [] }, { seed: 5 });
    subscribe();
    const ids = Array.from({ length: 60 }, (_, i) => `b-${i}`);
    for (const orderId of ids) sandbox.addOrder(quietOrder('business', orderId));
    for (const orderId of ids) sandbox.setStatus('business', orderId, 'Confirmed');
    const { lost } = sandbox.deliveryCounts();
    expect(lost).toBeGreaterThan(15);
    expect(lost).toBeLessThan(45);
    await expect.poll(() => new Set(receiver.received.map(({ json }) => json?.order_id)).size).toBe(60 - lost);
    await aMoment();
    expect(receiver.received.length).toBeGreaterThan(60 - lost);
    const order = receiver.received.map(({ json }) => Number(String(json?.order_id).slice(2)));
    expect(order).not.toEqual([...order].sort((a, b) => a - b));
  });
});

describe('a delivery that is not answered with 2xx', () => {
  it('is sent again by the schedule, with the same bytes, until it is', async () => {
    await start({ retryDelaysMs: [1, 20_000, 1] });
    subscribe();
    receiver.answer = () => ({ status: receiver.received.length < 3 ? 503 : 200 });
    sandbox.addOrder(quietOrder('business', 'b-1'));
    sandbox.setStatus('business', 'b-1', 'Confirmed');
    await hasReceived(3);
    await aMoment();
    expect(new Set(receiver.received.map(({ body }) => body.toString())).size).toBe(1);
    const attempts = sandbox.deliveries({ orderId: 'b-1' });
    expect(attempts.map(({ attempt, answer }) => [attempt, answer])).toEqual([
      [1, 503],
      [2, 503],
      [3, 200],
    ]);
    expect(Date.parse(attempts[2]?.at ?? '') - Date.parse(attempts[1]?.at ?? '')).toBeGreaterThanOrEqual(19);
    expect(sandbox.deliveryCounts()).toEqual({
      attempts: 3,
      kept: 3,
      delivered: 1,
      lost: 0,
      retrying: 0,
      givenUp: 0,
      byAnswer: { 200: 1, 503: 2 },
    });
  });

  it('is given up at the end of the schedule, or at once when there is none', async () => {
    await start({ retryDelaysMs: [1] });
    subscribe();
    receiver.answer = () => ({ status: 401 });
    sandbox.addOrder(quietOrder('business', 'b-1'));
    sandbox.setStatus('business', 'b-1', 'Confirmed');
    await expect.poll(() => sandbox.deliveryCounts()).toMatchObject({ givenUp: 1, byAnswer: { 401: 2 } });
    sandbox.setDeliverySettings({ retryDelaysMs: [] });
    sandbox.setStatus('business', 'b-1', 'Completed');
    await expect.poll(() => sandbox.deliveryCounts()).toMatchObject({ givenUp: 2, byAnswer: { 401: 3 } });
  });

  it('is not sent again once the subscriber has left', async () => {
    await start({ retryDelaysMs: [1_500_000] });
    const { id } = subscribe();
    receiver.answer = () => ({ status: 500 });
    sandbox.addOrder(quietOrder('business', 'b-1'));
    sandbox.setStatus('business', 'b-1', 'Confirmed');
    await expect.poll(() => sandbox.deliveryCounts().retrying).toBe(1);
    sandbox.removeSubscriber(id);
    await expect.poll(() => sandbox.deliveryCounts()).toMatchObject({ retrying: 0, givenUp: 1 });
    expect(receiver.received).toHaveLength(1);
  });

  it('may have had no answer at all, or too late', async () => {
    await start({ retryDelaysMs: [], timeoutMs: 1_000 });
    subscribe();
    receiver.answer = () => ({ status: 200, afterMs: 5_000 });
    expect(await sandbox.deliver({})).toMatchObject({ sent: 1, delivered: 0, byAnswer: { none: 1 } });
    await receiver.close();
    await sandbox.deliver({});
    expect(sandbox.deliveries()).toMatchObject([
      { answer: null, failure: 'TIMEOUT' },
      { answer: null, failure: 'ECONNREFUSED' },
    ]);
  });
});

describe('what is known of deliveries', () => {
  it('never holds a secret, an address or a body', async () => {
    await start({ secret: { mode: 'header', name: 'X-Check' } });
    const { id, secretId } = subscribe();
    await sandbox.deliver({ orderIds: ['b-1'], flaw: 'wrongPath' });
    await sandbox.deliver({ orderIds: ['b-1'] });
    expect(sandbox.deliveries({ subscriberId: id, orderId: 'b-1' })).toEqual([
      expect.objectContaining({ flaw: 'wrongPath' }),
      {
        at: expect.any(String),
        delivery: 2,
        subscriberId: id,
        eventType: 'status_changed',
        orderId: 'b-1',
        status: 'Routing',
        attempt: 1,
        cause: 'command',
        flaw: undefined,
        answer: 202,
        ms: expect.any(Number),
      },
    ]);
    const text = JSON.stringify([sandbox.deliveries(), sandbox.deliveryCounts(), sandbox.deliverySettings()]);
    expect(text).not.toContain(secretId);
    expect(text).not.toContain(capability);
    expect(text).not.toContain('timestamp');
  });

  it('can be asked and reset from another process, and so can the settings', async () => {
    await start();
    const { id: subscriberId } = subscribe();
    const control = controlSandbox(sandbox.url);
    expect(await control.deliver({ orderIds: ['b-1'], copies: 2 })).toMatchObject({ sent: 2, byAnswer: { 202: 2 } });
    expect(await control.deliveries({ subscriberId })).toEqual(JSON.parse(JSON.stringify(sandbox.deliveries())));
    expect(await control.deliveries({ orderId: 'b-2' })).toEqual([]);
    expect(await control.deliveryCounts()).toEqual(sandbox.deliveryCounts());
    await control.resetDeliveries();
    expect(await control.deliveries()).toEqual([]);
    const settings = await control.setDeliverySettings({ shape: 'nested', bySubscriber: { [subscriberId]: {} } });
    expect(settings).toMatchObject({ shape: 'nested', enabled: true, retryDelaysMs: [1_000, 5_000, 30_000, 120_000] });
    expect(await control.deliverySettings()).toEqual(settings);
  });

  it('is refused where it makes no sense, by the name of the field', async () => {
    await start();
    const control = controlSandbox(sandbox.url);
    await expect(control.deliver({})).rejects.toThrow(/nobody is subscribed to status_changed/);
    await expect(control.deliver({ subscriberId: 'x' })).rejects.toThrow(/subscriberId/);
    await expect(control.deliver({ count: 1_000, copies: 1_001 })).rejects.toThrow(/count/);
    await expect(control.setDeliverySettings({ lost: 2 })).rejects.toThrow(/lost/);
    await expect(startSandbox({ deliveries: { timeoutMs: 0 } })).rejects.toThrow(/timeoutMs/);
  });
});
