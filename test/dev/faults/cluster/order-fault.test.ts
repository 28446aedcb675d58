import { describe, expect, it } from 'vitest';
import { faultOf } from '../../../../dev/faults/cluster/order-fault.js';
import { toAccountName, toOrderId } from '../../../../src/domain/keys.js';
import { type OrderTrail, openTrail } from '../../../../src/domain/order/trail.js';

const at = '2026-01-01T00:00:00.000Z';
const statuses = ['Routing', 'Confirmed', 'Driving', 'Completed'];
const order = { orderId: '1', statuses, acknowledged: 3 };

function trailOf(read: string[], more: Partial<OrderTrail> = {}): OrderTrail {
  const timeline = read.map((status) => ({ status, rawStatus: status, at, source: 'read' as const }));
  return {
    ...openTrail({ account: toAccountName('business'), orderId: toOrderId('1') }, at),
    status: read.at(-1) ?? null,
    outcome: 'completed',
    deliveries: { received: 4, duplicate: 1 },
    timeline,
    ...more,
  };
}

describe('an order through which the database was restarted', () => {
  it('is right when its trail shows all or some statuses in their order, and each delivery came', () => {
    expect(faultOf(order, trailOf(statuses))).toBeUndefined();
    expect(faultOf(order, trailOf(['Routing', 'Completed']))).toBeUndefined();
  });

  it.each([
    ['a status came twice', trailOf(['Routing', 'Confirmed', 'Routing', 'Completed']), /went through/],
    ['a status came that the order never had', trailOf(['Routing', 'Waiting', 'Completed']), /went through/],
    ['the statuses came in another order', trailOf(['Driving', 'Confirmed', 'Completed']), /went through/],
    ['the trail does not show its end', trailOf(['Routing', 'Driving']), /ended/],
    ['it has another outcome', trailOf(statuses, { outcome: 'expired' }), /ended expired/],
    ['a delivery is missing', trailOf(statuses, { deliveries: { received: 3, duplicate: 1 } }), /3 .* 2 arrived/],
    ['a delivery counts twice', trailOf(statuses, { deliveries: { received: 4, duplicate: 0 } }), /3 .* 4 arrived/],
  ])('is wrong when %s', (_what, trail, fault) => {
    expect(faultOf(order, trail)).toMatch(fault);
  });
});
