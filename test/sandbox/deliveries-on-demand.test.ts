import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DeliveryShape, deliveryShapes } from '../../sandbox/delivery-bodies.js';
import { type Sandbox, sandboxCredentials, startSandbox } from '../../sandbox/sandbox.js';
import type { Subscriber } from '../../sandbox/subscribers.js';
import { quietOrder } from './calls.js';
import { type Receiver, startReceiver } from './receiver.js';

const { businessId } = sandboxCredentials.business;

let sandbox: Sandbox;
let receiver: Receiver;
let subscriber: Subscriber;
beforeAll(async () => {
  receiver = await startReceiver();
  sandbox = await startSandbox();
  sandbox.addOrder(quietOrder('business', 'b-1'));
  subscriber = sandbox.addSubscriber({ hookAddress: `${receiver.url}/w/1.mac-mac-mac`, eventType: 'status_changed' });
  sandbox.addSubscriber({ hookAddress: `${receiver.url}/report`, eventType: 'business_report' });
});
beforeEach(() => {
  receiver.received.length = 0;
  receiver.mostOpen = 0;
  receiver.connections = 0;
  sandbox.resetDeliveries();
});
afterAll(async () => {
  await sandbox.close();
  await receiver.close();
});

const about = { orderIds: ['b-1'], statuses: ['Driving'] };
const last = () => {
  const received = receiver.received.at(-1);
  if (!received) throw new Error('nothing received');
  return received;
};

describe('the body of a delivery', () => {
  const shapes: Record<Exclude<DeliveryShape, 'flat' | 'test'>, object> = {
    nested: { event_type: 'status_changed', order: { id: 'b-1', status: 'Driving' } },
    data: { event_type: 'status_changed', data: { order_id: 'b-1', status: 'Driving' } },
    dataOrder: { data: { order: { id: 'b-1', status: 'Driving' } } },
    value: { event_type: 'status_changed', value: { order_id: 'b-1', status: 'Driving' } },
    valueOrder: { value: { order: { id: 'b-1', status: 'Driving' } } },
  };
  it.each(Object.entries(shapes))('can be %s', async (shape, json) => {
    await sandbox.deliver({ ...about, shape: shape as DeliveryShape });
    expect(last().json).toEqual(json);
  });

  it('of a test names no order', async () => {
    await sandbox.deliver({ shape: 'test' });
    expect(last().json).toEqual({
      id: expect.any(String),
      event_type: expect.stringMatching(/^test/),
      hook_address: subscriber.hookAddress,
      message: expect.any(String),
      timestamp: expect.any(String),
    });
  });

  it.each(deliveryShapes.filter((shape) => shape !== 'test'))(
    'of a report has no status as %s, with or without an order',
    async (shape) => {
      await sandbox.deliver({ eventType: 'business_report', shape, orderIds: ['b-1'] });
      expect(last().body.toString()).toContain('b-1');
      expect(last().body.toString()).toContain(businessId);
      expect(last().body.toString()).not.toContain('status');
      await sandbox.deliver({ eventType: 'business_report', shape });
      expect(last().body.toString()).not.toContain('b-1');
    },
  );

  it('says what the order is now unless told otherwise', async () => {
    await sandbox.deliver({ orderIds: ['b-1'] });
    expect(last().json).toMatchObject({ order_id: 'b-1', status: 'Routing' });
  });

  it('can have its own shape and secret for one subscriber', async () => {
    const secret = { mode: 'header', name: 'x-own' } as const;
    sandbox.setDeliverySettings({ bySubscriber: { [subscriber.id]: { shape: 'value', secret } } });
    await sandbox.deliver(about);
    expect(last()).toMatchObject({ headers: { 'x-own': subscriber.secretId }, json: shapes.value });
    sandbox.setDeliverySettings({ bySubscriber: {} });
    await sandbox.deliver(about);
    expect(last().json).toMatchObject({ order_id: 'b-1' });
  });
});

describe('the secret', () => {
  it('is nowhere unless a place is named', async () => {
    await sandbox.deliver(about);
    expect(JSON.stringify([last().headers, last().json])).not.toContain(subscriber.secretId);
  });

  it('can be in a header', async () => {
    await sandbox.deliver({ ...about, secret: { mode: 'header', name: 'X-Check' } });
    expect(last().headers['x-check']).toBe(subscriber.secretId);
  });

  it('can be in a field of the body', async () => {
    await sandbox.deliver({ ...about, secret: { mode: 'body' } });
    expect(last().json).toMatchObject({ secret_id: subscriber.secretId, order_id: 'b-1' });
    await sandbox.deliver({ ...about, shape: 'data', secret: { mode: 'body', pointer: '/data/auth/secret' } });
    expect(last().json).toMatchObject({ data: { order_id: 'b-1', auth: { secret: subscriber.secretId } } });
  });

  it.each(['hex', 'base64'] as const)('can key an HMAC over the bytes of the body, as %s', async (encoding) => {
    await sandbox.deliver({ ...about, secret: { mode: 'hmac', header: 'X-Signature', encoding, prefix: 'v1=' } });
    const mac = createHmac('sha256', subscriber.secretId).update(last().body).digest(encoding);
    expect(last().headers['x-signature']).toBe(`v1=${mac}`);
  });

  it('can be wrong or missing', async () => {
    const secret = { mode: 'header', name: 'x-check' } as const;
    await sandbox.deliver({ ...about, secret, flaw: 'wrongSecret' });
    expect(last().headers['x-check']).toMatch(/^[0-9a-f-]{36}$/);
    expect(last().headers['x-check']).not.toBe(subscriber.secretId);
    await sandbox.deliver({ ...about, secret, flaw: 'noSecret' });
    expect(last().headers).not.toHaveProperty('x-check');
  });
});

describe('deliveries', () => {
  const fields = () => receiver.received.map(({ json }) => `${json?.order_id} ${json?.status}`);
  const many = { orderIds: ['o-1', 'o-2'], statuses: ['Driving', 'Completed'] };

  it('go to all orders with all statuses, in order or in reverse', async () => {
    await sandbox.deliver(many);
    const inOrder = ['o-1 Driving', 'o-1 Completed', 'o-2 Driving', 'o-2 Completed'];
    expect(fields()).toEqual(inOrder);
    await sandbox.deliver({ ...many, arrangement: 'reversed' });
    expect(fields().slice(4)).toEqual(inOrder.reverse());
  });

  it('can be shuffled', async () => {
    const statuses = Array.from({ length: 30 }, (_, i) => `S${String(i).padStart(2, '0')}`);
    await sandbox.deliver({ orderIds: ['o'], statuses, arrangement: 'shuffled' });
    const came = receiver.received.map(({ json }) => json?.status);
    expect(came).not.toEqual(statuses);
    expect(came.toSorted()).toEqual(statuses);
  });

  it('can be copies of one, or different ones', async () => {
    await sandbox.deliver({ ...about, copies: 3 });
    expect(new Set(receiver.received.map(({ body }) => body.toString())).size).toBe(1);
    expect(new Set(sandbox.deliveries().map(({ delivery }) => delivery)).size).toBe(1);
    await sandbox.deliver({ ...about, count: 3 });
    expect(new Set(receiver.received.map(({ body }) => body.toString())).size).toBe(4);
  });

  it('can be delayed', async () => {
    const startedAt = Date.now();
    await sandbox.deliver({ ...about, delayMs: 120 });
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(118);
  });

  it('can be sent again by the schedule when asked to', async () => {
    sandbox.setDeliverySettings({ retryDelaysMs: [1] });
    receiver.answer = () => ({ status: receiver.received.length < 2 ? 503 : 200 });
    expect(await sandbox.deliver({ ...about, isRetried: true })).toMatchObject({ sent: 1, delivered: 0 });
    await expect.poll(() => sandbox.deliveryCounts()).toMatchObject({ byAnswer: { 200: 1, 503: 1 } });
    receiver.answer = () => ({ status: 202 });
  });

  it('can come ten thousand at a time, so many at a time as asked for', { timeout: 60_000 }, async () => {
    const report = await sandbox.deliver({ ...about, count: 10_000, concurrency: 64 });
    expect(report).toMatchObject({ sent: 10_000, delivered: 10_000, byAnswer: { 202: 10_000 } });
    expect(new Set(receiver.received.map(({ body }) => body.toString())).size).toBe(10_000);
    expect(receiver.mostOpen).toBeGreaterThan(8);
    expect(receiver.mostOpen).toBeLessThanOrEqual(64);
    expect(receiver.connections).toBeLessThanOrEqual(256); // kept alive: a few more than at work at a time
  });
});

describe('a flaw', () => {
  it('can be the size, with and without a length', async () => {
    await sandbox.deliver({ ...about, flaw: 'oversized', bytes: 300_000 });
    expect(last()).toMatchObject({ headers: { 'content-length': '300000' }, json: { order_id: 'b-1' } });
    await sandbox.deliver({ ...about, flaw: 'oversizedChunked' });
    expect(last().headers).toMatchObject({ 'transfer-encoding': 'chunked' });
    expect(last().headers).not.toHaveProperty('content-length');
    expect(last().body).toHaveLength(262_145);
  });

  it.each(['notJson', 'empty', 'invalidUtf8'] as const)('can be that the body is no JSON: %s', async (flaw) => {
    await sandbox.deliver({ ...about, flaw });
    expect(last().json).toBeUndefined();
    expect(last().headers['content-type']).toBe('application/json');
    if (flaw === 'invalidUtf8') expect(JSON.parse(last().body.toString())).toMatchObject({ order_id: 'b-1' });
  });

  it('can be depth, keys of prototypes, or the same key twice, beside the usual fields', async () => {
    await sandbox.deliver({ ...about, flaw: 'deep' });
    expect(last().body.toString()).toContain('[[[[[[');
    await sandbox.deliver({ ...about, flaw: 'prototypeKeys' });
    expect(Object.keys(last().json ?? {})).toEqual(expect.arrayContaining(['__proto__', 'constructor']));
    await sandbox.deliver({ ...about, flaw: 'duplicateKeys' });
    expect(
      last()
        .body.toString()
        .match(/"order_id"/g),
    ).toHaveLength(2);
    expect(receiver.received.map(({ json }) => json?.order_id)).toEqual(['b-1', 'b-1', 'b-1']);
  });

  it('can be the path, in one letter of its last segment', async () => {
    await sandbox.deliver({ ...about, flaw: 'wrongPath' });
    const { path } = last();
    expect(path).not.toBe('/w/1.mac-mac-mac');
    expect([...path].filter((letter, i) => letter !== '/w/1.mac-mac-mac'[i])).toHaveLength(1);
  });
});
