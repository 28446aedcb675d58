import type { RideInterface } from '../../../src/domain/account.js';
import type { SandboxOrder } from './orders.js';

/** A typical order with durations as in reality; play it at a higher `speed`. */
export interface SampleOrder {
  name: string;
  interface: RideInterface;
  /** Milliseconds from adding the order to the scheduled time; absent: on-demand. */
  pickupAfterMs?: number;
  script: SandboxOrder['script'];
}

const second = 1000;
const minute = 60 * second;

/** One of each kind of course an order can take (assumed). */
export const sampleOrders = {
  onDemand: {
    name: 'on-demand ride',
    interface: 'partner',
    script: [
      { status: 'Pending', afterMs: 0 },
      { status: 'Routing', afterMs: 5 * second },
      { status: 'Confirmed', afterMs: 50 * second },
      { status: 'Waiting', afterMs: 6 * minute },
      { status: 'Driving', afterMs: 8 * minute },
      { status: 'Completed', afterMs: 26 * minute },
    ],
  },
  scheduled: {
    name: 'scheduled ride',
    interface: 'business',
    pickupAfterMs: 45 * minute,
    script: [
      { status: 'Reserved', afterMs: 0 },
      { status: 'Routing', afterMs: 25 * minute },
      { status: 'Confirmed', afterMs: 27 * minute },
      { status: 'Waiting', afterMs: 42 * minute },
      { status: 'Driving', afterMs: 46 * minute },
      { status: 'Completed', afterMs: 70 * minute },
    ],
  },
  cancelled: {
    name: 'cancelled while the driver was on the way',
    interface: 'partner',
    script: [
      { status: 'Pending', afterMs: 0 },
      { status: 'Routing', afterMs: 4 * second },
      { status: 'Confirmed', afterMs: 40 * second },
      { status: 'Cancelled', afterMs: 4 * minute },
    ],
  },
  rejected: {
    name: 'no driver took it',
    interface: 'partner',
    script: [
      { status: 'Pending', afterMs: 0 },
      { status: 'Routing', afterMs: 5 * second },
      { status: 'Rejected', afterMs: 6 * minute },
    ],
  },
  untracked: {
    name: 'scheduled, supplier without tracking',
    interface: 'business',
    pickupAfterMs: 30 * minute,
    script: [
      { status: 'Reserved', afterMs: 0 },
      { status: 'ActiveOrder', afterMs: 28 * minute },
      { status: 'Completed', afterMs: 55 * minute },
    ],
  },
  customerCare: {
    name: 'customer care steps in',
    interface: 'business',
    script: [
      { status: 'Pending', afterMs: 0 },
      { status: 'Routing', afterMs: 5 * second },
      { status: 'CareReq', afterMs: 3 * minute },
      { status: 'Confirmed', afterMs: 9 * minute },
      { status: 'Waiting', afterMs: 14 * minute },
      { status: 'Driving', afterMs: 16 * minute },
      { status: 'Completed', afterMs: 31 * minute },
    ],
  },
  unknownWord: {
    name: 'an undocumented status',
    interface: 'partner',
    script: [
      { status: 'Pending', afterMs: 0 },
      { status: 'Routing', afterMs: 5 * second },
      { status: 'DriverSwapped', afterMs: 3 * minute },
      { status: 'Driving', afterMs: 12 * minute },
      { status: 'Completed', afterMs: 30 * minute },
    ],
  },
} as const satisfies Record<string, SampleOrder>;

/** The order to add to a sandbox that runs at `speed`, which also brings its scheduled time nearer. */
export function toSandboxOrder(
  sample: SampleOrder,
  orderId: string,
  speed: number,
  now: Date = new Date(),
): SandboxOrder {
  const order = { interface: sample.interface, orderId, script: [...sample.script] };
  if (sample.pickupAfterMs === undefined) return order;
  return { ...order, scheduledAt: new Date(now.getTime() + sample.pickupAfterMs / speed).toISOString() };
}
