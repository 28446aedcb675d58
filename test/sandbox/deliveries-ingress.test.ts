import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deliveryShapes } from '../../sandbox/delivery-bodies.js';
import type { DeliveryFlaw } from '../../sandbox/delivery-flaws.js';
import type { SecretPlace } from '../../sandbox/delivery-secrets.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import type { VerificationSettings } from '../../src/webhooks/verification.js';
import { account, businessId, type IngressStand, startIngressStand } from '../webhooks/ingress-stand.js';

type EventType = 'status_changed' | 'business_report';

let sandbox: Sandbox;
let ingress: IngressStand;
beforeEach(async () => {
  sandbox = await startSandbox({ business: { businessId } });
});
afterEach(async () => {
  await sandbox.close();
  await ingress.close();
});

/** An ingress whose subscription has the secret that the sandbox has given out for it. */
async function subscribe(verification: VerificationSettings = { mode: 'path' }): Promise<void> {
  ingress = await startIngressStand({ verification });
  for (const eventType of ['status_changed', 'business_report'] as const) {
    const { secretId } = sandbox.addSubscriber({ hookAddress: ingress.addressOf('g1', eventType), eventType });
    const context = `subscription/${account}/${eventType}`;
    const secrets = [await ingress.sealer.seal(secretId, context)];
    ingress.memos.set(context, { accepted: [{ generation: 'g1', until: null, secrets, isSecretLost: false }] });
  }
}

const about = { orderIds: ['b-1'], statuses: ['Driving'] };
const answers = async (request: Parameters<Sandbox['deliver']>[0]) =>
  Object.keys((await sandbox.deliver({ ...about, ...request })).byAnswer).join();

describe('the ingress reads what the sandbox sends', () => {
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

  it('as a test, of which nothing is kept', async () => {
    await subscribe();
    expect(await answers({ shape: 'test' })).toBe('202');
    expect(ingress.store.deliveries).toEqual([]);
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
    for (const eventType of ['status_changed', 'business_report'] satisfies EventType[])
      expect(await answers({ eventType, secret })).toBe('202');
    expect(await answers({ secret, flaw: 'wrongSecret' })).toBe('401');
    expect(await answers({ secret, flaw: 'noSecret' })).toBe('401');
    expect(ingress.store.deliveries).toHaveLength(2);
  });
});

describe('the ingress answers a delivery with the flaw', () => {
  const expected: [DeliveryFlaw, string][] = [
    ['oversized', '413'],
    ['oversizedChunked', '413'],
    ['notJson', '400'],
    ['empty', '400'],
    ['invalidUtf8', '400'],
    ['wrongPath', '404'],
  ];
  it.each(expected)('%s with %s, and keeps nothing', async (flaw, code) => {
    await subscribe();
    expect(await answers({ flaw })).toBe(code);
    expect(ingress.store.deliveries).toEqual([]);
  });

  it.each(['deep', 'prototypeKeys', 'duplicateKeys'] as const)('%s by parking it', async (flaw) => {
    await subscribe();
    expect(await answers({ flaw })).toBe('202');
    expect(ingress.store.deliveries).toMatchObject([{ orderId: null, parkReason: 'ambiguousBody' }]);
  });
});
