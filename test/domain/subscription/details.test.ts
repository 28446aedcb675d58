import { describe, expect, it } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import type { GenerationStatus, SubscriptionStatus } from '../../../src/domain/subscription/status.js';
import { describeSubscription } from '../../../src/domain/subscription/status.js';

const generation = (more: Partial<GenerationStatus> = {}): GenerationStatus => ({
  generation: 'mabc1234',
  state: 'current',
  publicUrl: 'https://rides.example',
  openedAt: '2031-05-01T10:00:00.000Z',
  until: null,
  subscriberId: 'sub-1',
  createdAt: null,
  updatedAt: null,
  isSecretKnown: true,
  ...more,
});
const status = (more: Partial<SubscriptionStatus> = {}): SubscriptionStatus => ({
  account: toAccountName('business'),
  eventType: 'status_changed',
  state: 'active',
  publicUrl: 'https://rides.example',
  generations: [generation()],
  stillRegistered: [],
  attention: null,
  ...more,
});

describe('a subscription in the Temporal UI', () => {
  it('shows its addresses with their subscribers', () => {
    const rows = describeSubscription(status()).replaceAll('\u00a0', '').split('\n');
    expect(rows[0]).toBe('**active**: status_changed to https://rides.example');
    expect(rows).toContain('| mabc1234 | current | 2031-05-01 10:00:00 | - | sub-1 | yes |');
  });

  it('shows what needs a person, and what the service still has', () => {
    const attention = { code: 'forbidden' as const, message: 'not | permitted', since: '2031-05-01T10:00:00.000Z' };
    const text = describeSubscription(status({ attention, stillRegistered: ['a', 'b'] }));
    expect(text).toContain('**Attention: forbidden** since 2031-05-01 10:00:00 UTC: not   permitted');
    expect(text).toContain('still registered at the service: a, b');
  });

  it('stays below what the server takes, whatever the service sent', () => {
    const id = '\u4e2d'.repeat(200);
    const generations = Array.from({ length: 100 }, () => generation({ subscriberId: id }));
    const attention = { code: 'forbidden' as const, message: '\u4e2d'.repeat(900), since: '2031-05-01T10:00:00.000Z' };
    const text = describeSubscription(status({ generations, attention, stillRegistered: Array(200).fill(id) }));
    expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(20_000);
  });
});
