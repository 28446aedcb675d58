import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished, vi } from 'vitest';
import { rideStatuses } from '../../../src/domain/order/status.js';
import { createRouting } from '../../../src/webhooks/forward/routing.js';
import { portOf } from '../../support/delivery/deliveries.js';
import { shows, slowPolls, startFollowing, trailOf } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { useStoreStack } from '../../support/store/stack.js';
import { startIngressStand } from '../../webhooks/ingress-stand.js';

const { postgres, stack } = useStoreStack(() => slowPolls);

it('who knows the address of a webhook can put nothing in the place of what was read', async () => {
  const orderId = stack.newOrder('business', [['Pending', 0]]);
  const run = await startFollowing(stack, { account: 'business', orderId, reference: 'trip-50' });
  await shows(run, { status: 'Pending' });
  for (const word of ['Routing', 'Confirmed']) {
    stack.sandbox.setStatus('business', orderId, word);
    await run.executeUpdate('refreshOrder');
  }
  const before = await trailOf(run);
  expect(before.timeline.map(({ status }) => status)).toEqual(['Pending', 'Routing', 'Confirmed']);
  const rowsOf = () =>
    postgres.rows<{ status: string }>('select * from faretrail.order_changes where order_id = $1 order by position', [
      orderId,
    ]);
  await vi.waitFor(async () => expect(await rowsOf()).toHaveLength(3), patient);
  const rows = await rowsOf();

  const stand = await startIngressStand();
  onTestFinished(() => stand.close());
  const words = [
    ...Array.from({ length: 248 }, (_, index) => `CANCELLED BY ${index} `.padEnd(100, 'x')),
    ...rideStatuses,
  ];
  for (const status of words) {
    const body = JSON.stringify({ id: randomUUID(), message: JSON.stringify({ order_id: orderId, status }) });
    expect(await stand.post(body)).toMatchObject({ status: 202 });
  }
  const port = portOf(stack);
  const route = createRouting({ port, check: async () => null });
  expect((await route(stand.store.deliveries)).error).toBeNull();
  await shows(run, { deliveries: { received: 260, duplicate: 0 } });
  await run.executeUpdate('refreshOrder');

  const trail = await trailOf(run);
  expect(trail.timeline.filter(({ source }) => source === 'read')).toEqual(before.timeline);
  expect(trail.timeline.filter(({ source }) => source === 'delivery').length).toBeLessThanOrEqual(10);
  expect(trail).toMatchObject({ status: 'Confirmed', since: before.since, outcome: null, pushed: false });
  expect(JSON.stringify(trail)).not.toContain('CANCELLED BY');
  const details = await run.query<string>('__temporal_workflow_metadata').then((told) => JSON.stringify(told));
  expect(details).not.toContain('CANCELLED BY');
  for (const { status } of before.timeline) expect(details).toContain(status);
  expect(await rowsOf()).toEqual(rows);
  await run.executeUpdate('stopFollowing', { args: [{ reason: 'the test is over' }] });
});
