import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deliveryShapes } from '../../../dev/sandbox/delivery/bodies.js';
import type { DeliveryRequestInput } from '../../../dev/sandbox/delivery/requests.js';
import type { SecretPlace } from '../../../dev/sandbox/delivery/secrets.js';
import { type Sandbox, startSandbox } from '../../../dev/sandbox/sandbox.js';
import type { VerificationSettings } from '../../../src/webhooks/verification.js';
import { account, aStand, businessId, type IngressStand } from '../../webhooks/ingress-stand.js';

let sandbox: Sandbox;
let ingress: IngressStand;
beforeEach(async () => {
  sandbox = await startSandbox({ business: { businessId } });
});
afterEach(() => sandbox.close());

/** An ingress whose subscription has the secret that the sandbox has given out for it. */
async function subscribe(verification: VerificationSettings = { mode: 'path' }): Promise<void> {
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

const modes: Exclude<SecretPlace, { mode: 'none' }>[] = [
  { mode: 'header', name: 'X-Check' },
  { mode: 'body', pointer: '/secret_id' },
  { mode: 'hmac', header: 'X-Signature', algorithm: 'sha256', encoding: 'hex', prefix: '' },
  { mode: 'hmac', header: 'X-Signature', algorithm: 'sha256', encoding: 'base64', prefix: 'sha256=' },
];

describe('the ingress verifies the secret of the sandbox', () => {
  it.each(modes)('with %j', async (secret) => {
    await subscribe(secret);
    for (const eventType of ['status_changed', 'business_report'] as const)
      expect(await answers({ eventType, secret })).toBe('202');
    expect(await answers({ secret, flaw: 'wrongSecret' })).toBe('401');
    expect(await answers({ secret, flaw: 'noSecret' })).toBe('401');
    expect(ingress.store.deliveries).toHaveLength(2);
  });
});

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
])('the ingress answers a delivery with %j with %s', async (request, code, kept) => {
  await subscribe();
  expect(await answers(request)).toBe(code);
  expect(ingress.store.deliveries).toMatchObject(kept);
});
