import { randomInt } from 'node:crypto';
import type { OrderBook, SandboxOrder } from '../order/orders.js';
import { sampleOrders } from '../order/sample-orders.js';
import type { NewOrder } from './body.js';
import type { RideSettings } from './settings.js';

/** An order that a create call made. */
export interface CreatedOrder {
  orderId: string;
  /** The header `X-Request-ID` of the call that made it. */
  requestId: string | undefined;
  /** ISO instant. */
  createdAt: string;
  /** The body of the create, after all updates. */
  order: NewOrder;
}

interface Ride extends CreatedOrder {
  /** The bytes of the create, which tell a repeated request from another order with the same request id. */
  sent: Buffer;
  hasOwnScript: boolean;
}

export type Rides = ReturnType<typeof createRides>;

/** All orders that calls created. `speed` is that of the order book. */
export function createRides(orders: OrderBook, speed: number) {
  const made = new Map<string, Ride>();
  const byRequestId = new Map<string, Ride>();

  function scheduleAgain({ orderId, hasOwnScript }: Ride, scheduledAt: string): void {
    orders.reschedule('business', orderId, scheduledAt);
    if (hasOwnScript) return;
    const [, ...later] = scheduledLife(scheduledAt, speed, Date.now());
    orders.continueWith('business', orderId, later);
  }

  return {
    add(order: NewOrder, sent: Buffer, requestId: string | undefined, { script }: RideSettings): CreatedOrder {
      const { scheduled_at: scheduledAt } = order;
      const orderId = newOrderId(orders);
      const createdAt = new Date().toISOString();
      const ride = { orderId, requestId, createdAt, order, sent, hasOwnScript: script !== null };
      made.set(orderId, ride); // before the first status is announced, with the product of the ride
      const usual = () => (scheduledAt === undefined ? onDemandLife() : scheduledLife(scheduledAt, speed, Date.now()));
      const added = {
        interface: 'business',
        orderId,
        script: script ?? usual(),
        ...(scheduledAt === undefined ? {} : { scheduledAt }),
      } as const;
      orders.add(added, { isCreated: true });
      if (requestId !== undefined) byRequestId.set(requestId, ride);
      return ride;
    },
    /** The order that this request id made, and whether its create had the same bytes. */
    repeated(requestId: string | undefined, sent: Buffer): { orderId: string; isSame: boolean } | undefined {
      const ride = requestId === undefined ? undefined : byRequestId.get(requestId);
      return ride && { orderId: ride.orderId, isSame: ride.sent.equals(sent) };
    },
    find: (orderId: string): CreatedOrder | undefined => made.get(orderId),
    change(orderId: string, order: NewOrder): void {
      const ride = made.get(orderId);
      if (!ride) return;
      const { scheduled_at: before } = ride.order;
      ride.order = order;
      if (order.scheduled_at !== undefined && order.scheduled_at !== before) scheduleAgain(ride, order.scheduled_at);
    },
    all: (): CreatedOrder[] =>
      [...made.values()].map(({ orderId, requestId, createdAt, order }) => ({ orderId, requestId, createdAt, order })),
  };
}

/** Random, so that orders of several sandboxes at one Temporal server have different ids. */
function newOrderId(orders: OrderBook): string {
  const orderId = String(randomInt(10 ** 13, 10 ** 14));
  return orders.find('business', orderId) ? newOrderId(orders) : orderId;
}

type Script = SandboxOrder['script'];

/** The statuses of an on-demand order. */
export const onDemandLife = (): Script => [...sampleOrders.onDemand.script];

/** The statuses of a scheduled order from `now` on. The pick-up comes at the scheduled real time; only the steps around it
 *  run at the sandbox's speed. */
export function scheduledLife(scheduledAt: string, speed: number, now: number): Script {
  const { script, pickupAfterMs } = sampleOrders.scheduled;
  const leadMs = Math.max(0, Date.parse(scheduledAt) - now) * speed;
  return script.map(({ status, afterMs }, i) => ({
    status,
    afterMs: i === 0 ? 0 : Math.max(0, leadMs + afterMs - pickupAfterMs),
  }));
}
