import { expect, it } from 'vitest';
import type { DeliveryResult } from '../../../src/domain/delivery.js';
import { createDirectForwarding, createRouting } from '../../../src/webhooks/forward/routing.js';
import { aDelivery } from '../journal/folders.js';
import { recordedPort } from './port.js';

const id = (digit: string) => digit.repeat(32);
const check = async () => null;

it('reports go to the report of the order, or to one of their own', async () => {
  const { port, calls } = recordedPort();
  const forward = createDirectForwarding({ port, check });
  await forward(aDelivery({ eventType: 'business_report', deliveryId: id('a') }));
  await forward(aDelivery({ eventType: 'business_report', deliveryId: id('b'), orderId: null }));
  expect(calls).toEqual([`report 42: ${id('a')}`, `report ${id('b')}: ${id('b')}`]);
});

it('deliveries without a place are parked with the reason, and the others go to their order in one call', async () => {
  const { port, calls } = recordedPort();
  const route = createRouting({ port, check });
  const [b, c] = [aDelivery({ deliveryId: id('b') }), aDelivery({ deliveryId: id('c') })];
  const a = aDelivery({ deliveryId: id('a'), parkReason: 'otherCompany' });
  const result = await route([a, b, c]);
  await route([aDelivery({ deliveryId: id('d'), orderId: null })]);
  const places = [`order 42: ${id('b')} ${id('c')}`, `parked otherCompany: ${id('a')}`, `parked noOrderId: ${id('d')}`];
  expect(calls).toEqual(places);
  expect(result).toEqual({ done: new Set([b, c, a]), error: null });
});

it('deliveries for an order that is no longer followed are parked one by one', async () => {
  const { port } = recordedPort();
  const parked: unknown[] = [];
  const outcomes: unknown[] = [];
  let refusals = 1;
  const route = createRouting({
    port: {
      ...port,
      toRun: async () => 'followingStopped',
      async park({ receivedAt: _, ...delivery }) {
        if (delivery.deliveryId === id('a') && refusals-- > 0) throw new Error('not now');
        parked.push(delivery);
      },
    },
    check,
    onForwarded: (_about, outcome, count) => void outcomes.push([outcome, count]),
  });
  const [a, b] = [aDelivery({ deliveryId: id('a') }), aDelivery({ deliveryId: id('b') })];
  expect(await route([a, b])).toMatchObject({ done: new Set([b]), error: { message: 'not now' } });
  expect(await route([a])).toEqual({ done: new Set([a]), error: null });
  const base = { account: 'business', eventType: 'status_changed', reason: 'followingStopped', sealed: '' };
  expect(parked).toEqual(['b', 'a'].map((digit) => ({ ...base, deliveryId: id(digit), aboutOrderId: '42' })));
  expect(outcomes.flat()).toEqual(['parked', 1, 'parked', 1]);
});

it('deliveries that were admitted by their path alone are checked first', async () => {
  const { port, calls } = recordedPort();
  const route = createRouting({
    port,
    check: async ({ uncheckedGeneration }) => {
      if (uncheckedGeneration === 'later') throw new Error('not known yet');
      return uncheckedGeneration === 'old' ? 'endedGeneration' : null;
    },
  });
  const unchecked = (digit: string, uncheckedGeneration: string) =>
    aDelivery({ deliveryId: id(digit), uncheckedGeneration });
  const [good, old] = [unchecked('a', 'good'), unchecked('b', 'old')];
  const result = await route([good, old, unchecked('c', 'later')]);
  expect(calls).toEqual([`order 42: ${id('a')}`, `parked endedGeneration: ${id('b')}`]);
  expect(result).toMatchObject({ done: new Set([good, old]), error: { message: 'not known yet' } });
});

it('a run learns of a delivery without what only the ingress needs', async () => {
  const told: unknown[] = [];
  const toRun = async (_about: unknown, deliveries: unknown[]) => {
    told.push(...deliveries);
    return 'signalled' as const;
  };
  const delivery = aDelivery({ status: 'Driving', uncheckedGeneration: 'g1', sealed: 'e30' });
  await createDirectForwarding({ port: { ...recordedPort().port, toRun }, check })(delivery);
  const { deliveryId, receivedAt } = delivery;
  expect(told).toEqual([{ deliveryId, receivedAt, eventType: 'status_changed', status: 'Driving' }]);
});

it('a delivery that Temporal does not take is not acknowledged on the direct way, and counts for nothing', async () => {
  const recorded = recordedPort();
  const outcomes: (DeliveryResult | 'parked')[] = [];
  const onForwarded = (_about: unknown, outcome: DeliveryResult | 'parked') => void outcomes.push(outcome);
  const forward = createDirectForwarding({ port: recorded.port, check, onForwarded });
  recorded.refuse = () => new Error('no');
  await expect(forward(aDelivery())).rejects.toThrow('no');
  expect(outcomes).toEqual([]);
  recorded.refuse = () => undefined;
  await forward(aDelivery());
  expect(outcomes).toEqual(['signalled']);
});
