import { describe, expect, it, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { deliveryOf, portOf } from '../support/delivery/deliveries.js';
import { useNotifyReceiver } from '../support/notify/receiver.js';
import {
  type AnOrder,
  anOrderOf,
  brokenOff,
  goesOnAfter,
  orderRunOf,
  startedWith,
  takenBack,
} from '../support/order/ends.js';
import { useOrderStack } from '../support/order/stack.js';
import { useWaysIn, type WayToFollow } from '../support/order/ways-in.js';
import { patient } from '../support/patience.js';

const receiver = useNotifyReceiver();
const stack = useOrderStack(() => ({ env: receiver.env }));
const ways = useWaysIn(stack);

const anOrder = () => anOrderOf(stack);
const runOf = (order: AnOrder) => orderRunOf(stack, order);

const signalDelivery = ({ account, orderId }: AnOrder): Promise<string> =>
  portOf(stack).toOrder({ account: toAccountName(account), orderId: toOrderId(orderId) }, [deliveryOf('Routing')]);

/** The new run is given what the former one left. */
async function expectGoesOn(way: WayToFollow, order: AnOrder): Promise<void> {
  expect((await startedWith(stack, order))[1]).toEqual(way.continues ? { left: expect.anything() } : undefined);
}

describe.concurrent.each(['client', 'cli', 'temporal'] as const)(
  'an order that is followed through the way %s',
  (name) => {
    it.each(Object.entries(brokenOff))('is followed again after %s', async (kind, breakOff) => {
      const order = anOrder();
      const runId = await breakOff(stack, order);
      await ways[name].follow({ ...order, reference: 'trip-9' });
      await goesOnAfter(stack, order, runId);
      if (kind !== 'a start with a misspelt field') await expectGoesOn(ways[name], order);
      expect(await runOf(order).result()).toMatchObject({ reference: 'trip-9' });
    });

    it.each(Object.entries(takenBack))('is followed again after %s only where the caller says so', async (_, end) => {
      const order = anOrder();
      const runId = await end(stack, order);
      await ways[name].follow(order).catch((error: unknown) => expect(String(error)).toMatch(/already started/));
      expect(await runOf(order).describe()).toMatchObject({ runId, status: { name: 'COMPLETED' } });
      await ways[name].follow(order, true);
      await goesOnAfter(stack, order, runId);
      await expectGoesOn(ways[name], order);
    });

    it('has all that its caller wants though a delivery came first', async () => {
      const order = anOrder();
      expect(await signalDelivery(order)).toBe('started');
      const path = `/${name}/${order.orderId}`;
      const scheduledAt = '2031-05-01T08:30:00.000Z';
      await ways[name].follow({
        ...order,
        reference: 'trip-9',
        scheduledAt,
        notify: [{ url: `${receiver.origin}${path}` }],
      });
      await vi.waitFor(() => expect(receiver.taken(path)).toEqual(['Routing']), patient);
      stack.sandbox.setStatus('business', order.orderId, 'Completed');
      expect(await runOf(order).result()).toMatchObject({
        outcome: 'completed',
        reference: 'trip-9',
        reads: expect.any(Number),
      });
      await vi.waitFor(() => expect(receiver.taken(path)).toEqual(['Routing', 'Completed']), patient);
    });

    it('stays as it ended at the service, whatever the caller says', async () => {
      const order = { ...anOrder(), orderId: stack.newOrder('business', [['Completed', 0]]) };
      const { firstExecutionRunId: runId } = await stack.follow('business', order.orderId);
      await runOf(order).result();
      const says = ways[name].continues; // who uses Temporal alone may start whatever run
      await ways[name].follow(order, says).catch((error: unknown) => expect(String(error)).toMatch(/already started/));
      expect(await runOf(order).describe()).toMatchObject({ runId, status: { name: 'COMPLETED' } });
    });
  },
);

it.each(['client', 'temporal'] as const)(
  'an order that a delivery found first is followed for as long as a caller says later, through the way %s',
  async (name) => {
    const order = anOrder();
    await signalDelivery(order);
    await ways[name].follow({ ...order, followForMs: 1_000 });
    expect(await runOf(order).result()).toMatchObject({ outcome: 'expired' });
  },
);

it('many callers at once take a stop back once', async () => {
  const order = anOrder();
  const runId = await takenBack['a stop by mistake']?.(stack, order);
  await Promise.all([1, 2, 3, 4].map(() => ways.client.follow(order, true)));
  const first = (await runOf(order).describe()).runId;
  await goesOnAfter(stack, order, runId ?? '');
  expect((await runOf(order).describe()).runId).toBe(first);
});

it('the command line shows how an order ended that it does not follow again, and says how to', async () => {
  const order = anOrder();
  await takenBack['a stop by mistake']?.(stack, order);
  expect(await ways.cli.follow(order)).toMatchObject({ state: 'alreadyEnded', trail: { outcome: 'stopped' } });
  expect(await ways.cli.follow(order, true)).toMatchObject({ state: 'startedAgain' });
  await runOf(order).terminate();
});
