import { expect, it, vi } from 'vitest';
import { createReads } from '../../src/desk/reads.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { followOrderId } from '../../src/domain/workflow-ids.js';
import { deliveryOf, portOf } from '../support/delivery/deliveries.js';
import { type FollowHandle, shows, slowPolls } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { useStoreStack } from '../support/store/stack.js';

const { postgres, opened, stack } = useStoreStack(() => slowPolls);
const account = toAccountName('business');

/** An order whose run a delivery has started, and which the store has. */
async function startedByDelivery(status = 'Waiting') {
  const orderId = toOrderId(stack.newOrder('business', [[status, 0]]));
  await portOf(stack).toOrder({ account, orderId }, [deliveryOf(status)]);
  const run = stack.client.workflow.getHandle(followOrderId({ account, orderId })) as FollowHandle;
  await shows(run, { status });
  const row = async () => (await postgres.rows('select * from faretrail.orders where order_id = $1', [orderId]))[0];
  const changes = async () =>
    (
      await postgres.rows<{ change: number; type: string; status: string }>(
        'select change, type, status from faretrail.order_changes where order_id = $1 order by position',
        [orderId],
      )
    ).map(({ change, type, status: shown }) => `${change} ${type} ${shown}`);
  await vi.waitFor(async () => expect(await changes()).toEqual([`1 order.changed ${status}`]), patient);
  return { orderId, run, row, changes };
}

it('a reference that comes after a delivery started the run is in the store, and the desk finds the order by it', async () => {
  const { orderId, run, row, changes } = await startedByDelivery();
  expect(await row()).toMatchObject({ reference: null, changes: 1 });
  await run.signal('followRequested', { reference: `Trip ${orderId}` });
  await vi.waitFor(
    async () => expect(await row()).toMatchObject({ reference: `Trip ${orderId}`, changes: 2 }),
    patient,
  );
  expect(await row()).toMatchObject({ status: 'Waiting', outcome: null, terminal: false });
  const { search } = createReads(opened.store);
  expect(await search(`trip ${orderId}`, true)).toMatchObject([{ order_id: orderId, status: 'Waiting' }]);

  // Neither the same again nor another reference, nor a read that finds nothing new, is one more row.
  await run.signal('followRequested', { reference: `Trip ${orderId}` });
  await run.signal('followRequested', { reference: 'another' });
  await run.executeUpdate('refreshOrder');
  stack.sandbox.setStatus('business', orderId, 'Completed');
  await run.executeUpdate('refreshOrder');
  await run.result();
  const expected = ['1 order.changed Waiting', '2 reference.added Waiting', '3 order.ended Completed'];
  await vi.waitFor(async () => expect(await changes()).toEqual(expected), patient);
  expect(await row()).toMatchObject({ reference: `Trip ${orderId}`, outcome: 'completed' });
});
