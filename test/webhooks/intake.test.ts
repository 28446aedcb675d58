import { expect, it } from 'vitest';
import { toAccountName } from '../../src/domain/keys.js';
import { createNamedKey } from '../../src/sealing/key-ring.js';
import { createWebhookPaths } from '../../src/sealing/webhook-paths.js';
import { deliveryIdOf, rememberAddresses } from '../../src/webhooks/intake.js';
import { account, webhookKeys } from './ingress-stand.js';

const key = { account, eventType: 'status_changed' } as const;
const older = createNamedKey('w0', new Uint8Array(32).fill(1));
const capabilityUnder = (keys: Parameters<typeof createWebhookPaths>[0], generation: string) =>
  createWebhookPaths(keys)
    .pathOf({ ...key, generation })
    .replace(/.*\//, '');

it('computes the mac of an address once, and never takes another one for it', () => {
  const paths = createWebhookPaths([...webhookKeys, older]);
  let computed = 0;
  const read = rememberAddresses((...given) => {
    computed += 1;
    return paths.readCapability(...given);
  });
  const good = capabilityUnder(webhookKeys, 'g1');
  for (let count = 0; count < 10; count += 1) expect(read(key, good)).toBe('g1');
  expect(computed).toBe(1);

  const [generation, mac = ''] = good.split('.');
  const wrong = [`${generation}.${mac.slice(1)}A`, `${generation}.`, generation ?? '', `${good}.x`, `g2.${mac}`, ''];
  for (const capability of wrong) expect(read(key, capability)).toBeUndefined();
  expect(read({ ...key, eventType: 'business_report' }, good)).toBeUndefined();

  expect(read(key, capabilityUnder([older], 'g1'))).toBe('g1'); // the same generation, from before the keys changed
  expect(read(key, good)).toBe('g1');
});

it('the id of a delivery stays the same from release to release', () => {
  const key = { account: toAccountName('business'), eventType: 'status_changed' } as const;
  // What sha256sum says of: business/status_changed/{"order":1}
  expect(deliveryIdOf(key, Buffer.from('{"order":1}'))).toBe('ee9e47900c6eaf1fe5513b43a378c53b');
});
