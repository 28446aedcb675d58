import { isSameStatus, toRideStatus } from '../../../src/domain/order/status.js';
import type { NewOrder } from '../ride/body.js';
import { type LiveOrder, requestedTimeOf, scheduledTimeOf, statusAt, toSeconds } from './orders.js';
import { numberOrText } from './wire-id.js';

/** The partner's answer to an order status look-up, as code of clients reads it (published 2.4). */
export function partnerOrderBody(live: LiveOrder, now: number): object {
  const { orderId, details } = live.order;
  const status = statusAt(live, now);
  const { name, phone, vehicle } = fakeDriver;
  const driver = { driver_name: name, driver_phone: phone, plate_number: vehicle.license_plate };
  return {
    order: {
      order_id: orderId,
      status,
      scheduled_at: live.order.scheduledAt,
      created_at: requestedTimeOf(live),
      product: { name: 'Standard Cab', category: 'transportation' },
      actual: withDriver.has(toRideStatus(status)) ? { supplier: { driver } } : undefined,
      ...details,
    },
  };
}

const minute = 60_000;
const accepted = new Set(['Confirmed', 'Waiting', 'Driving', 'ActiveOrder', 'Completed']);
const withDriver = new Set(['Confirmed', 'Waiting', 'Driving']);

/** The business answer to order details (published 2.3): fields appear as the order advances. `ordered`: what a create asked for. */
export function orderDetailsBody(live: LiveOrder, ordered: NewOrder | undefined, now: number): object {
  const status = statusAt(live, now);
  const known = toRideStatus(status);
  const at = (word: string) => live.steps.find((step) => isSameStatus(step.status, word))?.at;
  const reached = (word: string) => pastIso(at(word), now);
  const confirmedAt = at('Confirmed');
  const arrival = at('Waiting') ?? (confirmedAt === undefined ? undefined : confirmedAt + 5 * minute);
  return {
    id: numberOrText(live.order.orderId),
    status,
    requested_at: requestedTimeOf(live),
    scheduled_at: scheduledTimeOf(live),
    will_arrive_at_pickup: reached('Confirmed') && arrival ? toSeconds(arrival) : undefined,
    pickedup_at: reached('Driving'),
    droppedoff_at: reached('Completed'),
    supplier: accepted.has(known) ? supplierBody(withDriver.has(known)) : undefined,
    stops: (ordered?.stops ?? fakeStops).map((stop) => stopBody(stop, known)),
    ...live.order.details,
  };
}

const pastIso = (at: number | undefined, now: number): string | undefined =>
  at !== undefined && at <= now ? toSeconds(at) : undefined;

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

type Stop = Pick<NewOrder['stops'][number], 'type'> & {
  actions: { type: string; user: object }[];
  location: { lat: number | string; lng: number | string };
};

const user = { name: 'Pat Example', phone: '15550100200' };
/** Of an order that a command added. */
const fakeStops: Stop[] = [
  { type: 'origin', actions: [{ type: 'pick_up', user }], location: { lat: 52.5, lng: 13.4 } },
  { type: 'destination', actions: [{ type: 'drop_off', user }], location: { lat: 52.6, lng: 13.5 } },
];

const originProgress: Record<string, string> = {
  Confirmed: 'Confirmed',
  Waiting: 'Waiting',
  Driving: 'Completed',
  Completed: 'Completed',
  Cancelled: 'Cancelled',
  Rejected: 'Cancelled',
};
const laterProgress: Record<string, string> = {
  Driving: 'Confirmed',
  Completed: 'Completed',
  Cancelled: 'Cancelled',
  Rejected: 'Cancelled',
};

function stopBody({ type, actions, location: { lat, lng } }: Stop, orderStatus: string): object {
  const status = (type === 'origin' ? originProgress : laterProgress)[orderStatus] ?? 'Pending';
  return {
    type,
    progress_status: status,
    actions: actions.map((action) => ({ type: action.type, status, user: action.user })),
    location: { lat, lng },
  };
}
