import { expect, it } from 'vitest';
import { toAccountName } from '../../src/domain/keys.js';
import { deliveryIdOf } from '../../src/webhooks/intake.js';

it('the id of a delivery stays the same from release to release', () => {
  const key = { account: toAccountName('business'), eventType: 'status_changed' } as const;
  // What sha256sum says of: business/status_changed/{"order":1}
  expect(deliveryIdOf(key, Buffer.from('{"order":1}'))).toBe('ee9e47900c6eaf1fe5513b43a378c53b');
});
