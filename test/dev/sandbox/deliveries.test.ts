import { describe, expect, it, onTestFinished } from 'vitest';
import type { DeliveryRequestInput } from '../../../dev/sandbox/delivery/requests.js';
import type { DeliveryChange } from '../../../dev/sandbox/delivery/settings.js';
import { type Sandbox, startSandbox } from '../../../dev/sandbox/sandbox.js';
import type { VerificationSettings } from '../../../src/webhooks/verification.js';
import { account, aStand, businessId, type IngressStand } from '../../webhooks/ingress-stand.js';
import { quietOrder } from './calls.js';
import { type Receiver, startReceiver } from './receiver.js';

const capability = '1.the-mac-in-the-path';
let sandbox: Sandbox;
let receiver: Receiver;

async function startSubscribed(deliveries: DeliveryChange = {}) {
  receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  sandbox = await startSandbox({ speed: 3_000, deliveries });
  onTestFinished(() => sandbox.close());
  const hookAddress = `${receiver.url}/webhooks/status_changed/${capability}`;
  return sandbox.addSubscriber({ hookAddress, eventType: 'status_changed' });
}

describe('a delivery that is not answered with 2xx', () => {
  it('is sent again by the schedule, with the same bytes, until it is', async () => {
    await startSubscribed({ retries: 3 });
    receiver.answer = () => ({ status: receiver.received.length < 3 ? 503 : 202 });
    sandbox.addOrder(quietOrder('business', 'b-1'));
    sandbox.setStatus('business', 'b-1', 'Confirmed');
    await expect.poll(() => sandbox.deliveryCounts().delivered).toBe(1);
    expect(new Set(receiver.received.map(({ body }) => body.toString())).size).toBe(1);
    const attempts = sandbox.deliveries({ orderId: 'b-1' });
    expect(attempts.map(({ attempt, answer }) => `${attempt}: ${answer}`)).toEqual(['1: 503', '2: 503', '3: 202']);
    expect(Date.parse(attempts[2]?.at ?? '') - Date.parse(attempts[1]?.at ?? '')).toBeGreaterThanOrEqual(39);
    const counts = { attempts: 3, delivered: 1, lost: 0, retrying: 0, givenUp: 0, byAnswer: { 202: 1, 503: 2 } };
    expect(sandbox.deliveryCounts()).toMatchObject(counts);
  });
});

it.each([
  ['is not sent again unless its subscription asks for it', 503, undefined, 1],
  ['is sent again as often as its subscription asks for it', 503, 2, 3],
  ['is not sent again after a refusal', 400, 2, 1],
])('a delivery %s', async (_, status, retries, attempts) => {
  await startSubscribed();
  receiver.answer = () => ({ status });
  for (const { id } of sandbox.subscribers()) sandbox.removeSubscriber(id);
  sandbox.addSubscriber({ hookAddress: receiver.url, eventType: 'status_changed', retries });
  sandbox.addOrder(quietOrder('business', 'b-1'));
  sandbox.setStatus('business', 'b-1', 'Confirmed');
  await expect.poll(() => sandbox.deliveryCounts()).toMatchObject({ givenUp: 1, attempts });
});

describe('the record of deliveries', () => {
  it('never holds a secret, an address or a body', async () => {
    const { id, secretId } = await startSubscribed();
    await sandbox.deliver({ orderIds: ['b-1'], flaw: 'wrongPath' });
    await sandbox.deliver({ orderIds: ['b-1'] });
    const deliveries = sandbox.deliveries({ subscriberId: id, orderId: 'b-1' });
    expect(deliveries).toMatchObject([{ flaw: 'wrongPath' }, { delivery: 2, cause: 'command', answer: 202 }]);
    const text = JSON.stringify([deliveries, sandbox.deliveryCounts(), sandbox.deliverySettings()]);
    for (const secret of [secretId, capability, 'sha256=', 'timestamp']) expect(text).not.toContain(secret);
  });
});

const signatureHeader = 'X-Drawn';
let ingress: IngressStand;
/** An ingress whose subscription has the secret that the sandbox has given out for it. */
async function subscribe(verification: VerificationSettings = { mode: 'path' }, orderBefore?: string): Promise<void> {
  sandbox = await startSandbox({ business: { businessId }, deliveries: { signatureHeader } });
  onTestFinished(() => sandbox.close());
  if (orderBefore !== undefined) sandbox.addOrder(quietOrder('business', orderBefore));
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

it('the ingress reads the deliveries of the sandbox', async () => {
  await subscribe();
  expect(await answers({ copies: 1, count: 2 })).toBe('202');
  expect(await answers({ eventType: 'business_report' })).toBe('202');
  expect(ingress.store.deliveries).toMatchObject([
    { eventType: 'status_changed', orderId: 'b-1', status: 'Driving' },
    { eventType: 'status_changed', orderId: 'b-1', status: 'Driving' },
    { eventType: 'business_report', orderId: 'b-1' },
  ]);
  expect(ingress.store.deliveries.filter(({ parkReason }) => parkReason)).toEqual([]);
});

const parked = [{ orderId: null, parkReason: 'ambiguousBody' }];
it.each<[DeliveryRequestInput, string, object[]]>([
  [{ eventType: 'test.event.updated' }, '202', []],
  [{ flaw: 'oversized' }, '413', []],
  [{ flaw: 'oversizedChunked' }, '413', []],
  [{ flaw: 'notJson' }, '400', []],
  [{ flaw: 'empty' }, '400', []],
  [{ flaw: 'invalidUtf8' }, '400', []],
  [{ flaw: 'wrongPath' }, '404', []],
  [{ flaw: 'deep' }, '202', parked],
  [{ flaw: 'prototypeKeys' }, '202', parked],
  [{ flaw: 'duplicateKeys' }, '202', parked],
])('the ingress answers a delivery with %j with %s', async (request, code, kept) => {
  await subscribe();
  expect(await answers(request)).toBe(code);
  expect(ingress.store.deliveries).toMatchObject(kept);
});

describe.each(['wrongSecret', 'unsigned'] as const)('a delivery with the flaw %s', (flaw) => {
  it('is admitted by its address until the first verified one, and refused from then on', async () => {
    await subscribe({ mode: 'signed' });
    expect(await answers({ flaw })).toBe('202');
    expect(await answers({})).toBe('202');
    expect(await answers({ flaw, count: 3 })).toBe('401');
    expect(await answers({ eventType: 'business_report', flaw }), 'another subscription').toBe('202');
    expect(await answers({})).toBe('202');
    expect(ingress.facts.map(({ outcome }) => outcome).filter((outcome) => outcome === 'wrongSecret')).toHaveLength(3);
    expect(ingress.store.deliveries).toHaveLength(4);
  });

  it('is always refused where the profile names header and form of the proof, and never where it names none', async () => {
    const form = {
      mode: 'hmac',
      algorithm: 'sha256',
      encoding: 'base64',
      prefix: 'sha256=',
      over: 'received',
    } as const;
    await subscribe({ ...form, header: signatureHeader });
    expect([await answers({ flaw }), await answers({})]).toEqual(['401', '202']);
    await subscribe();
    expect([await answers({}), await answers({ flaw })]).toEqual(['202', '202']);
  });
});

// The fuzzer of dev/faults/counterparts counts on it: the bodies that it changes cannot be signed.
it('nothing is sent about an order that had its last status before the subscription, so unsigned deliveries stay admitted', async () => {
  await subscribe({ mode: 'signed' }, 'b-1');
  expect(await answers({ flaw: 'unsigned', count: 3 })).toBe('202');
  expect(sandbox.deliveryCounts()).toMatchObject({ attempts: 3 });
});
