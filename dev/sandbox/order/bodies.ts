import { isSameStatus, toRideStatus } from '../../../src/domain/order/status.js';
import { type LiveOrder, type StatusShape, statusAt } from './orders.js';

/** The partner's answer to an order status look-up, in one of the assumed shapes. */
export function orderStatusBody(live: LiveOrder, defaultShape: StatusShape, now: number): unknown {
  const { orderId, details, shape = defaultShape } = live.order;
  const status = statusAt(live, now);
  if (shape === 'flat') return { order_id: orderId, status, ...details };
  if (shape === 'wrapped') return { status: 'success', data: { order: { id: orderId, status, ...details } } };
  return { order: { order_id: orderId, status, ...details } };
}

const minute = 60_000;
const accepted = new Set(['Confirmed', 'Waiting', 'Driving', 'ActiveOrder', 'Completed']);
const withDriver = new Set(['Confirmed', 'Waiting', 'Driving']);

/** The business answer to order details (assumed): fields appear as the order advances. */
export function orderDetailsBody(live: LiveOrder, now: number): object {
  const status = statusAt(live, now);
  const known = toRideStatus(status);
  const at = (word: string) => live.steps.find((step) => isSameStatus(step.status, word))?.at;
  const reached = (word: string) => pastIso(at(word), now);
  const requestedAt = new Date(live.addedAt).toISOString();
  const confirmedAt = at('Confirmed');
  const arrival = at('Waiting') ?? (confirmedAt === undefined ? undefined : confirmedAt + 5 * minute);
  return {
    id: live.order.orderId,
    status,
    requested_at: requestedAt,
    scheduled_at: live.order.scheduledAt ?? requestedAt,
    will_arrive_at_pickup: reached('Confirmed') && arrival ? new Date(arrival).toISOString() : undefined,
    pickedup_at: reached('Driving'),
    droppedoff_at: reached('Completed'),
    supplier: accepted.has(known) ? supplierBody(withDriver.has(known)) : undefined,
    stops: stopBodies(known),
    ...live.order.details,
  };
}

const pastIso = (at: number | undefined, now: number): string | undefined =>
  at !== undefined && at <= now ? new Date(at).toISOString() : undefined;

/** Invented personal data, so that tests can search trails and logs for it. */
export const fakeDriver = {
  name: 'Sandy Boxwell',
  phone: '15550100****',
  image_url: 'https://sandbox.example/drivers/sandy-boxwell.png',
  rating: 4.9,
  vehicle: { model: 'Example Motors Sedan', license_plate: 'SBX 4711 SB' },
};

const supplierBody = (driver: boolean) => ({
  name: 'Sandbox Cabs',
  code: '4711',
  ...(driver ? { driver: fakeDriver } : {}),
});

const originProgress: Record<string, string> = {
  Confirmed: 'Confirmed',
  Waiting: 'Waiting',
  Driving: 'Completed',
  Completed: 'Completed',
  Cancelled: 'Cancelled',
  Rejected: 'Cancelled',
};
const destinationProgress: Record<string, string> = {
  Driving: 'Confirmed',
  Completed: 'Completed',
  Cancelled: 'Cancelled',
  Rejected: 'Cancelled',
};

function stopBodies(status: string): unknown[] {
  const origin = originProgress[status] ?? 'Pending';
  const destination = destinationProgress[status] ?? 'Pending';
  return [
    { type: 'origin', progress_status: origin, actions: [{ type: 'pick_up', status: origin }] },
    { type: 'destination', progress_status: destination, actions: [{ type: 'drop_off', status: destination }] },
  ];
}
