import { randomBytes, randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { createFaretrailClient } from '../../../src/client/index.js';
import type { Delivery } from '../../../src/domain/delivery.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { toDeliveryId } from '../../../src/domain/parked.js';
import { toDataConverter } from '../../../src/sealing/data-converter.js';
import { createNamedKey, type KeyRing } from '../../../src/sealing/key-ring.js';
import { createPayloadCodec } from '../../../src/sealing/payload-codec.js';
import { createDirectForwarding } from '../../../src/webhooks/forward/routing.js';
import { deliveryOf, portOf } from '../../support/delivery/deliveries.js';
import {
  type AnOrder,
  anOrderOf,
  brokenOff,
  goesOnAfter,
  orderRunOf,
  startedWith,
  takenBack,
} from '../../support/order/ends.js';
import { useOrderStack } from '../../support/order/stack.js';
import { endedWith } from '../../support/runs.js';

const stack = useOrderStack();

/** One delivery on the way without a journal. Gives what became of it. */
async function deliver(
  { account, orderId }: AnOrder,
  { untracked = 'follow', client = stack.client }: { untracked?: 'follow' | 'ignore'; client?: Client } = {},
): Promise<{ outcome: string; delivery: Delivery }> {
  const outcomes: string[] = [];
  const forward = createDirectForwarding({
    port: portOf({ ...stack, client }, untracked),
    check: async () => null,
    onForwarded: (_about, outcome) => outcomes.push(outcome),
  });
  const delivery: Delivery = {
    ...deliveryOf('Routing'),
    deliveryId: toDeliveryId(randomUUID().replaceAll('-', '')),
    account: toAccountName(account),
    orderId: toOrderId(orderId),
    eventType: 'status_changed',
  };
  await forward(delivery);
  expect(outcomes).toHaveLength(1);
  return { outcome: outcomes[0] ?? '', delivery };
}

/** A run that has ended as the order has, its result encrypted with these keys. */
const endedUnder = (keys: KeyRing, order: AnOrder): Promise<void> =>
  endedWith(
    stack.client,
    orderRunOf(stack, order).workflowId,
    { ...order, status: 'Completed', outcome: 'completed' },
    (payload) => createPayloadCodec({ keys, encrypts: true }).encode([payload]),
  );

const faretrail = () => createFaretrailClient({ client: stack.client, taskQueue: stack.config.taskQueue });
const parkedOf = ({ account, deliveryId }: Delivery) => faretrail().getParked(account, deliveryId);
const expiry = takenBack['an expiry before a pick-up far ahead'];
const stop = takenBack['a stop by mistake'];
const again: typeof brokenOff = { ...brokenOff, ...(expiry && { 'an expiry before a pick-up far ahead': expiry }) };

describe.concurrent('a delivery for an order whose last run has ended', () => {
  it.each(Object.entries(again))('starts it again after %s, and is read', async (_, end) => {
    const order = anOrderOf(stack);
    const runId = await end(stack, order);
    // A caller wanted this order followed, whatever the account does about others.
    expect(await deliver(order, { untracked: 'ignore' })).toMatchObject({ outcome: 'started' });
    expect((await startedWith(stack, order))[0]).toMatchObject(order);
    await goesOnAfter(stack, order, runId);
    expect(await orderRunOf(stack, order).result()).toMatchObject({ deliveries: { received: 1 } });
  });

  it.each(['follow', 'ignore'] as const)('is late where the order has ended at the service (%s)', async (untracked) => {
    const order = { ...anOrderOf(stack), orderId: stack.newOrder('business', [['Cancelled', 0]]) };
    const { firstExecutionRunId: runId } = await stack.follow('business', order.orderId);
    await orderRunOf(stack, order).result();
    expect(await deliver(order, { untracked })).toMatchObject({ outcome: 'late' });
    expect(await orderRunOf(stack, order).describe()).toMatchObject({ runId, status: { name: 'COMPLETED' } });
  });

  it('waits for a person where a person stopped the following, and is routed once it is followed again', async () => {
    const order = anOrderOf(stack);
    const runId = (await stop?.(stack, order)) ?? '';
    const { outcome, delivery } = await deliver(order);
    expect(outcome).toBe('parked');
    const parked = parkedOf(delivery);
    const reason = { reason: 'followingStopped', aboutOrderId: order.orderId, outcome: 'waiting' };
    expect(await parked.state()).toMatchObject(reason);
    await expect(parked.route(order.orderId)).rejects.toMatchObject({ code: 'NotRouted', message: /--again/ });
    expect((await orderRunOf(stack, order).describe()).runId).toBe(runId);
    await faretrail().follow(order, { again: true });
    expect(await parked.route(order.orderId)).toMatchObject({ outcome: 'routed', handedOver: 'signalled' });
    await goesOnAfter(stack, order, runId);
    expect(await orderRunOf(stack, order).result()).toMatchObject({ deliveries: { received: 1 } });
  });

  it('waits for a person where the end cannot be read', async () => {
    const order = anOrderOf(stack);
    const keys: KeyRing = [createNamedKey('p1', randomBytes(32))];
    await endedUnder(keys, order);
    const { outcome, delivery } = await deliver(order);
    expect(outcome).toBe('parked');
    expect(await parkedOf(delivery).state()).toMatchObject({ reason: 'endUnreadable', aboutOrderId: order.orderId });
    const dataConverter = toDataConverter({ keys, encrypts: false });
    const holder = new Client({ connection: stack.client.connection, dataConverter });
    expect(await deliver(order, { client: holder })).toMatchObject({ outcome: 'late' });
  });
});
