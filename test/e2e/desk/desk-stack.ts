import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, vi } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { openStore } from '../../../src/store/store.js';
import { pollersOf } from '../../../src/temporal/watches.js';
import { openDesk } from '../../desk/scene.js';
import { portOf } from '../../support/delivery/deliveries.js';
import { startNotices } from '../../support/notify/notices.js';
import { useNotifyReceiver } from '../../support/notify/receiver.js';
import { shows } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { useStoreStack } from '../../support/store/stack.js';

/** A worker with a store, a receiver of notices, and a desk over both. */
export function useDeskStack() {
  const receiver = useNotifyReceiver();
  const { postgres, opened, stack } = useStoreStack(() => ({ env: receiver.env }));
  const desk = {} as Awaited<ReturnType<typeof openDesk>>;
  beforeAll(async () => {
    const store = openStore(postgres.url, { connections: 4 });
    const { taskQueue } = stack.config;
    Object.assign(desk, await openDesk(store, { address: inject('temporalAddress'), taskQueue }));
    await vi.waitFor(
      async () => expect(await pollersOf(stack.client, taskQueue, 'workflows')).not.toEqual([]),
      patient,
    );
  });
  afterAll(async () => {
    await desk.close();
    await desk.store.close();
  });
  const isStored = (orderId: string, shown: object) =>
    vi.waitFor(async () => {
      const [row] = await postgres.rows('select * from faretrail.orders where order_id = $1', [orderId]);
      expect(row).toMatchObject(shown);
    }, patient);
  return {
    ...{ stack, desk, opened, receiver, postgres, isStored },
    /** A followed order that the store has. */
    async order(reference: string, status = 'Routing') {
      const orderId = stack.newOrder('business', [[status, 0]]);
      const handle = await stack.follow('business', orderId, { reference });
      await shows(handle, { status });
      await isStored(orderId, { status });
      return { orderId, handle, path: `/orders/business/${orderId}` };
    },
    /** A delivery that waits for a person. */
    async parked() {
      const deliveryId = randomBytes(16).toString('hex');
      await portOf(stack).park({
        ...{ account: toAccountName('business'), deliveryId, eventType: 'status_changed', reason: 'noOrderId' },
        ...{ receivedAt: new Date().toISOString(), sealed: 'eyJhbGciOiJkaXIifQ..c2VhbGVk.b2Y.dGhl' },
      });
      return `/parked/business/${deliveryId}`;
    },
    /** A notice that its receiver refuses the first time; gives how often it came. */
    async lostNotice() {
      const path = `/${randomUUID()}`;
      receiver.answer(path, 400, 204);
      await startNotices(stack, receiver.origin + path, 1);
      return () => receiver.received.filter((one) => one.path === path).map(({ status }) => status);
    },
  };
}
