import { describe, expect, it, onTestFinished } from 'vitest';
import { deliveryShapes } from '../../../dev/sandbox/delivery/bodies.js';
import type { DeliveryRequestInput } from '../../../dev/sandbox/delivery/requests.js';
import { type DeliveryChange, drawnForm } from '../../../dev/sandbox/delivery/settings.js';
import { type Sandbox, startSandbox } from '../../../dev/sandbox/sandbox.js';
import type { VerificationSettings } from '../../../src/webhooks/verification.js';
import { account, aStand, businessId, byMac, type IngressStand } from '../../webhooks/ingress-stand.js';
import { call, newToken, quietOrder } from './calls.js';
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
    receiver.answer = () => ({ status: receiver.received.length < 3 ? 503 : 202 });
    sandbox.addOrder(quietOrder('business', 'b-1'));
    sandbox.setStatus('business', 'b-1', 'Confirmed');
    await expect.poll(() => sandbox.deliveryCounts().delivered).toBe(1);
    expect(new Set(receiver.received.map(({ body }) => body.toString())).size).toBe(1);
    const attempts = sandbox.deliveries({ orderId: 'b-1' });
    expect(attempts.map(({ attempt, answer }) => `${attempt}: ${answer}`)).toEqual(['1: 503', '2: 503', '3: 202']);
    expect(Date.parse(attempts[2]?.at ?? '') - Date.parse(attempts[1]?.at ?? '')).toBeGreaterThanOrEqual(19);
    const counts = { attempts: 3, delivered: 1, lost: 0, retrying: 0, givenUp: 0, byAnswer: { 202: 1, 503: 2 } };
    expect(sandbox.deliveryCounts()).toMatchObject(counts);
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

let ingress: IngressStand;
/** An ingress whose subscription has the secret that the sandbox has given out for it. */
async function subscribe(verification: VerificationSettings = { mode: 'path' }): Promise<void> {
  sandbox = await startSandbox({ business: { businessId } });
  onTestFinished(() => sandbox.close());
  ingress = await aStand({ verification });
  for (const eventType of ['status_changed', 'business_report'] as const) {
    const { secretId } = sandbox.addSubscriber({ hookAddress: ingress.addressOf('g1', eventType), eventType });
    const context = `subscription/${account}/${eventType}`;
    const secrets = [await ingress.sealer.seal(secretId, context)];
    ingress.memos.set(context, { accepted: [{ generation: 'g1', until: null, secrets, isSecretLost: false }] });
  }
}

const about = { orderIds: ['b-1'], statuses: ['Driving'] };
const answers = async (request: DeliveryRequestInput) =>
  Object.keys((await sandbox.deliver({ ...about, ...request })).byAnswer).join();

describe('the ingress reads a delivery of the sandbox', () => {
  it.each(deliveryShapes.filter((shape) => shape !== 'test'))('as %s', async (shape) => {
    await subscribe();
    expect(await answers({ shape })).toBe('202');
    expect(await answers({ shape, eventType: 'business_report' })).toBe('202');
    expect(ingress.store.deliveries).toMatchObject([
      { eventType: 'status_changed', orderId: 'b-1', status: 'Driving' },
      { eventType: 'business_report', orderId: 'b-1' },
    ]);
    expect(ingress.store.deliveries.filter(({ parkReason }) => parkReason)).toEqual([]);
  });
});

const secret = byMac;
const parked = [{ orderId: null, parkReason: 'ambiguousBody' }];
it.each<[DeliveryRequestInput, string, object[]]>([
  [{ shape: 'test' }, '202', []],
  [{ flaw: 'oversized' }, '413', []],
  [{ flaw: 'oversizedChunked' }, '413', []],
  [{ flaw: 'notJson' }, '400', []],
  [{ flaw: 'empty' }, '400', []],
  [{ flaw: 'invalidUtf8' }, '400', []],
  [{ flaw: 'wrongPath' }, '404', []],
  [{ flaw: 'deep' }, '202', parked],
  [{ flaw: 'prototypeKeys' }, '202', parked],
  [{ flaw: 'duplicateKeys' }, '202', parked],
  [{ secret }, '202', [{ orderId: 'b-1' }]],
  [{ secret, flaw: 'wrongSecret' }, '401', []],
  [{ secret, flaw: 'noSecret' }, '401', []],
])('the ingress answers a delivery with %j with %s', async (request, code, kept) => {
  await subscribe(request.secret ? secret : { mode: 'path' });
  expect(await answers(request)).toBe(code);
  expect(ingress.store.deliveries).toMatchObject(kept);
});

it.each(Array.from({ length: 12 }, (_, seed) => seed))(
  'the ingress takes deliveries in the form that seed %i draws, at an address that the service has tried, by a profile alone',
  async (seed) => {
    const form = drawnForm(seed);
    sandbox = await startSandbox({ speed: 1_000, business: { businessId }, deliveries: form });
    onTestFinished(() => sandbox.close());
    const { eventsAt = null, look, secret = { mode: 'none' } } = form;
    const answer = seed % 2 === 0 ? 'text' : 'json';
    ingress = await aStand({
      verification: secret.mode === 'hmac' ? (secret as VerificationSettings) : { mode: 'path' },
      delivery: {
        events: [`${eventsAt ?? ''}/*`],
        ...(look === 'query' && { challenge: { mode: look, name: 'challenge', answer } }),
        ...(look === 'body' && { challenge: { mode: look, pointer: '/challenge', answer } }),
      },
    });
    const token = await newToken(sandbox, 'business', { scope: null });
    const subscribe = (address: string) => {
      const json = 'application/json';
      const headers = { authorization: `Bearer ${token}`, accept: json, 'content-type': json };
      const body = JSON.stringify({ hook_address: address, event_types: 'status_changed' });
      return call('POST', `${sandbox.url}/v1/subscribers?businessId=${businessId}`, headers, body);
    };
    expect((await subscribe(`${ingress.addressOf()}x`)).status).toBe(look === 'none' ? 201 : 400);
    const { status, json } = await subscribe(ingress.addressOf());
    expect(status).toBe(201);
    const context = `subscription/${account}/status_changed`;
    const secrets = [await ingress.sealer.seal((json as { secret_id: string }).secret_id, context)];
    ingress.memos.set(context, { accepted: [{ generation: 'g1', until: null, secrets, isSecretLost: false }] });

    sandbox.addOrder(quietOrder('business', 'b-1'));
    sandbox.setStatus('business', 'b-1', 'Confirmed');
    const kept = () => ingress.store.deliveries.map((one) => [one.orderId, one.status, one.parkReason]);
    const told = eventsAt === null ? ['Confirmed'] : ['Routing', 'Confirmed'];
    await expect.poll(kept).toEqual(told.map((word) => ['b-1', word, undefined]));
  },
);
