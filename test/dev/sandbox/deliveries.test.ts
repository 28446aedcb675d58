import { describe, expect, it, onTestFinished } from 'vitest';
import type { DeliveryShape } from '../../../dev/sandbox/delivery/bodies.js';
import type { DeliveryChange } from '../../../dev/sandbox/delivery/settings.js';
import { type Sandbox, startSandbox } from '../../../dev/sandbox/sandbox.js';
import { quietOrder } from './calls.js';
import { type Receiver, startReceiver } from './receiver.js';

const capability = '1.the-mac-in-the-path';

let sandbox: Sandbox;
let receiver: Receiver;
async function startSubscribed(deliveries: DeliveryChange = {}) {
  receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  sandbox = await startSandbox({ speed: 1_000, deliveries });
  onTestFinished(() => sandbox.close());
  const hookAddress = `${receiver.url}/webhooks/status_changed/${capability}`;
  return sandbox.addSubscriber({ hookAddress, eventType: 'status_changed' });
}
describe('a delivery that is not answered with 2xx', () => {
  it('is sent again by the schedule, with the same bytes, until it is', async () => {
    await startSubscribed({ retryDelaysMs: [1, 20_000, 1] });
    receiver.answer = () => ({ status: receiver.received.length < 3 ? 503 : 200 });
    sandbox.addOrder(quietOrder('business', 'b-1'));
    sandbox.setStatus('business', 'b-1', 'Confirmed');
    await expect.poll(() => sandbox.deliveryCounts().delivered).toBe(1);
    expect(new Set(receiver.received.map(({ body }) => body.toString())).size).toBe(1);
    const attempts = sandbox.deliveries({ orderId: 'b-1' });
    expect(attempts.map(({ attempt, answer }) => `${attempt}: ${answer}`)).toEqual(['1: 503', '2: 503', '3: 200']);
    expect(Date.parse(attempts[2]?.at ?? '') - Date.parse(attempts[1]?.at ?? '')).toBeGreaterThanOrEqual(19);
    const counts = { attempts: 3, delivered: 1, lost: 0, retrying: 0, givenUp: 0, byAnswer: { 200: 1, 503: 2 } };
    expect(sandbox.deliveryCounts()).toMatchObject(counts);
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
