import { describe, expect, it } from 'vitest';
import { parkReasons } from '../../src/domain/delivery.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { toOrderId } from '../../src/domain/keys.js';
import {
  describeParked,
  type ParkedDelivery,
  parseDiscardInput,
  parseParkedDeliveryInput,
  parseRouteInput,
} from '../../src/domain/parked.js';

const input = {
  account: 'business',
  eventType: 'status_changed',
  deliveryId: '0f'.repeat(16),
  receivedAt: '2031-05-01T10:00:00.000Z',
  reason: 'noOrderId',
  sealed: 'a.sealed.text',
};

describe('the input of a parked delivery', () => {
  it('is read as the ingress sends it, with every reason it has', () => {
    for (const reason of parkReasons)
      expect(parseParkedDeliveryInput({ ...input, reason })).toEqual({ ...input, reason });
  });

  it.each([
    ['account', { account: 'Business' }],
    ['eventType', { eventType: 'status' }],
    ['deliveryId', { deliveryId: 'xyz' }],
    ['receivedAt', { receivedAt: 'now' }],
    ['reason', { reason: '' }],
    ['sealed', { sealed: null }],
    ['unknown field "body"', { body: '{}' }],
  ])('is refused by name, never by value: %s', (named, change) => {
    const parse = () => parseParkedDeliveryInput({ ...input, ...change });
    expect(parse).toThrow(InvalidInput);
    expect(parse).toThrow(named);
    expect(parse).not.toThrow('sealed.text');
  });

  it('may lack a body where it names its order', () => {
    const ofOrder = { ...input, reason: 'followingStopped', aboutOrderId: '42', sealed: '' };
    expect(parseParkedDeliveryInput(ofOrder)).toEqual(ofOrder);
    expect(() => parseParkedDeliveryInput({ ...input, sealed: '' })).toThrow('sealed');
    expect(() => parseParkedDeliveryInput({ ...ofOrder, aboutOrderId: 'a/b' })).toThrow('aboutOrderId');
  });

  it('of its updates is read in the same way', () => {
    expect(parseRouteInput({ orderId: 4711 })).toEqual({ orderId: '4711' });
    expect(parseDiscardInput({ reason: 'x' })).toEqual({ reason: 'x' });
    for (const bad of [null, {}, { orderId: '.' }, { orderId: '1', reason: 'x' }])
      expect(() => parseRouteInput(bad)).toThrow(InvalidInput);
    for (const bad of [null, {}, { reason: '' }]) expect(() => parseDiscardInput(bad)).toThrow(InvalidInput);
  });
});

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
