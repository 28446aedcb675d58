import { expect, it } from 'vitest';
import { shows, useOrderStack } from '../../support/order/stack.js';

const clockAheadMs = 180_000;
const stack = useOrderStack({ clockAheadMs });

it('no instant of a trail lies in the future, although the clock of the worker is ahead', async () => {
  const orderId = stack.newOrder('partner', [['Driving', 0]]);
  const handle = await stack.follow('partner', orderId);
  await shows(handle, { status: 'Driving' });
  stack.sandbox.setStatus('partner', orderId, 'Completed');
  const { since, timeline } = await handle.result();
  expect(timeline.map(({ status }) => status)).toEqual(['Driving', 'Completed']);
  for (const at of [since, ...timeline.map((entry) => entry.at)])
    expect(Date.parse(at)).toBeLessThanOrEqual(Date.now() + 1_000);
});
