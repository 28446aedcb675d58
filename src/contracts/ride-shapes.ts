import { z } from 'zod';
import { CallerKeyShape } from './call-shapes.js';
import { AccountNameShape, AttentionShape, NotifyShape, OrderIdShape, OrderTrailShape } from './order-shapes.js';

const OrderBody = z
  .record(z.string(), z.unknown())
  .describe('Body of create order, or the part of it that changes; fields nobody here knows are sent as they are.');

/** What `requestRide` is started with. */
export const RequestRideInputShape = z.strictObject({
  account: AccountNameShape.describe('Name of a business account that the workers hold.'),
  requestId: CallerKeyShape.describe('Your own id of the ride: the same id never books twice.'),
  order: OrderBody,
  receipt: z.boolean().nullish().describe('Wait for the receipt after the end.'),
  notify: z.array(NotifyShape).max(10).nullish(),
});

/** Argument of the update `updateRide`. */
export const UpdateRideShape = z.strictObject({ order: OrderBody });

/** Argument of the update `resolveRide`: what a person found out about a create whose outcome is unknown. */
export const RideResolutionShape = z.union([
  z.strictObject({ orderId: OrderIdShape }),
  z.strictObject({ tryAgain: z.literal(true) }),
  z.strictObject({ giveUp: z.literal(true), reason: z.string().min(1).max(200) }),
]);

const RideOutcomeShape = z
  .enum(['completed', 'cancelled', 'rejected', 'stopped', 'expired', 'withdrawn'])
  .describe('withdrawn: cancelled before anything was sent, so there is no order.');

/** Answer of the query `rideStatus` and of every update of a ride. */
export const RideStandingShape = z.object({
  account: z.string(),
  requestId: z.string(),
  stage: z.enum(['requesting', 'following', 'receipt', 'ended']),
  orderId: z.string().nullable().describe('Null until the service has named it.'),
  status: z.string().nullable(),
  outcome: RideOutcomeShape.nullable(),
  attention: AttentionShape.nullable(),
  followedAgain: z
    .object({ times: z.int(), at: z.string(), reason: z.string() })
    .optional()
    .describe(
      'The run that followed the order broke off, so the order is followed again. Absent while that never happened.',
    ),
});

/** Result of `requestRide`. `orderId` and `trail` are null only with the outcome `withdrawn`. */
export const RideResultShape = z.object({
  account: z.string(),
  requestId: z.string(),
  orderId: z.string().nullable(),
  outcome: RideOutcomeShape.nullable(),
  trail: OrderTrailShape.nullable(),
  receipt: z.record(z.string(), z.unknown()).nullable().describe('Null when none was wanted, or none came in time.'),
});
