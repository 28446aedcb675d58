import { describe, expect, it } from 'vitest';
import type { DeliveryResult } from '../../../src/domain/delivery.js';
import { createDirectForwarding, createRouting } from '../../../src/webhooks/forward/routing.js';
import { aDelivery } from '../journal/folders.js';
import { recordedPort } from './port.js';

const id = (digit: string) => digit.repeat(32);
const passAll = async () => null;

describe('deliveries on their way', () => {
  it('of one order go to it in one call', async () => {
    const { port, calls } = recordedPort();
    const route = createRouting({ port, check: passAll });
    const result = await route([aDelivery({ deliveryId: id('a') }), aDelivery({ deliveryId: id('b') })]);
    expect(calls).toEqual([`order 42: ${id('a')} ${id('b')}`]);
    expect(result).toEqual({ done: [0, 1], error: null });
  });

  it('about reports go to the report of the order, or to one of their own', async () => {
    const { port, calls } = recordedPort();
    const forward = createDirectForwarding({ port, check: passAll });
    await forward(aDelivery({ eventType: 'business_report', deliveryId: id('a') }));
    await forward(aDelivery({ eventType: 'business_report', deliveryId: id('b'), orderId: null }));
    expect(calls).toEqual([`report 42: ${id('a')}`, `report ${id('b')}: ${id('b')}`]);
  });

  it('that have no place are parked with the reason, and the others go on', async () => {
    const { port, calls } = recordedPort();
    const route = createRouting({ port, check: passAll });
    await route([aDelivery({ deliveryId: id('a'), parkReason: 'otherCompany' }), aDelivery({ deliveryId: id('b') })]);
    await route([aDelivery({ deliveryId: id('c'), orderId: null })]);
    expect(calls).toEqual([`order 42: ${id('b')}`, `parked otherCompany: ${id('a')}`, `parked noOrderId: ${id('c')}`]);
  });

  it('for an order that is no longer followed are parked one by one', async () => {
    const { port } = recordedPort();
    const parked: unknown[] = [];
    const outcomes: unknown[] = [];
    let refusals = 1;
    const route = createRouting({
      port: {
        ...port,
        toOrder: async () => 'followingStopped',
        async park({ receivedAt: _, ...delivery }) {
          if (delivery.deliveryId === id('b') && refusals-- > 0) throw new Error('not now');
          parked.push(delivery);
        },
      },
      check: passAll,
      onForwarded: (_about, outcome, count) => void outcomes.push([outcome, count]),
    });
    const both = [aDelivery({ deliveryId: id('a') }), aDelivery({ deliveryId: id('b') })];
    expect(await route(both)).toMatchObject({ done: [0], error: { message: 'not now' } });
    expect(await route(both.slice(1))).toEqual({ done: [0], error: null });
    const base = { account: 'business', eventType: 'status_changed', reason: 'followingStopped', sealed: '' };
    expect(parked).toEqual(['a', 'b'].map((digit) => ({ ...base, deliveryId: id(digit), aboutOrderId: '42' })));
    expect(outcomes.flat()).toEqual(['parked', 1, 'parked', 1]);
  });

  it('that were admitted by their path alone are checked first', async () => {
    const { port, calls } = recordedPort();
    const route = createRouting({
      port,
      check: async ({ uncheckedGeneration }) => {
        if (uncheckedGeneration === 'later') throw new Error('nobody knows');
        return uncheckedGeneration === 'old' ? 'endedGeneration' : null;
      },
    });
    const unchecked = (digit: string, uncheckedGeneration: string) =>
      aDelivery({ deliveryId: id(digit), uncheckedGeneration });
    const result = await route([unchecked('a', 'good'), unchecked('b', 'old'), unchecked('c', 'later')]);
    expect(calls).toEqual([`order 42: ${id('a')}`, `parked endedGeneration: ${id('b')}`]);
    expect(result).toMatchObject({ done: [0, 1], error: { message: 'nobody knows' } });
  });

  it('are told to the run without what only the ingress needs', async () => {
    const told: unknown[] = [];
    const { port } = recordedPort();
    const toOrder = async (_key: unknown, deliveries: unknown[]) => {
      told.push(...deliveries);
      return 'signalled' as const;
    };
    const delivery = aDelivery({ status: 'Driving', uncheckedGeneration: 'g1', sealed: 'e30' });
    await createDirectForwarding({ port: { ...port, toOrder }, check: passAll })(delivery);
    const { deliveryId, receivedAt } = delivery;
    expect(told).toEqual([{ deliveryId, receivedAt, eventType: 'status_changed', status: 'Driving' }]);
  });

  it('that Temporal does not take are not acknowledged on the direct way, and count for nothing', async () => {
    const recorded = recordedPort();
    const outcomes: (DeliveryResult | 'parked')[] = [];
    const onForwarded = (_about: unknown, outcome: DeliveryResult | 'parked') => void outcomes.push(outcome);
    const forward = createDirectForwarding({ port: recorded.port, check: passAll, onForwarded });
    recorded.refuse = () => new Error('no');
    await expect(forward(aDelivery())).rejects.toThrow('no');
    expect(outcomes).toEqual([]);
    recorded.refuse = () => undefined;
    await forward(aDelivery());
    expect(outcomes).toEqual(['signalled']);
  });
});
