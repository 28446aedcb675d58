import { describe, expect, it } from 'vitest';
import { toOrderId } from '../../src/domain/keys.js';
import { describeParked, type ParkedDelivery, parseParkedDeliveryInput } from '../../src/domain/parked.js';

const input = {
  account: 'business',
  eventType: 'status_changed',
  deliveryId: '0f'.repeat(16),
  receivedAt: '2031-05-01T10:00:00.000Z',
  reason: 'noOrderId',
  sealed: 'a.sealed.text',
};

describe('a parked delivery in the Temporal UI', () => {
  const { sealed: _sealed, ...kept } = parseParkedDeliveryInput(input);
  const waiting: ParkedDelivery = { ...kept, outcome: 'waiting', orderId: null, discardReason: null };

  it('says why it waits, and the commands that end it', () => {
    const text = describeParked(waiting);
    expect(text).toContain('**Waits for a person**: no order id was found in it.');
    expect(text).toContain(`\`faretrail delivery route business ${input.deliveryId} --order ID\``);
  });

  it('of an order whose following was stopped names the order, to be followed again', () => {
    const text = describeParked({ ...waiting, reason: 'followingStopped', aboutOrderId: toOrderId('42') });
    expect(text).toContain('**Waits for a person**: the following of its order was stopped.');
    expect(text).toContain('`faretrail order follow business 42 --again`');
    expect(text).toContain(`\`faretrail delivery route business ${input.deliveryId} --order 42\``);
  });

  it('says what became of it, and then offers no command', () => {
    expect(describeParked({ ...waiting, outcome: 'routed', orderId: 'a|b' as never })).toContain('to order a b.');
    const discarded = describeParked({ ...waiting, outcome: 'discarded', discardReason: 'a test' });
    expect(discarded).toContain('**Discarded**: a test');
    expect(discarded).not.toContain('faretrail');
  });
});
