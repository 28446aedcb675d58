import { BusinessAccountSchema, CallerKeySchema, callBody, toCallerKey } from '../call.js';
import { parseNoInput, parserOf } from '../input-fields.js';
import { AccountNameSchema, OrderIdSchema } from '../keys.js';
import { NotifyListSchema } from '../notify/receivers.js';
import * as s from '../schema.js';
import { toEstimateBody } from './quote.js';

/** Body of create order; what we know of it is checked when it is sent, all else passes. */
const OrderBodySchema = s.described(
  callBody(
    s.checked(
      s.anyObject('must be a JSON object, the body of create order or a part of it'),
      (order) => Object.keys(order).length > 0,
      'must not be empty',
    ),
  ),
  'Body of create order, or the part of it that changes; fields that faretrail does not know are sent as they are.',
);

/** What `requestRide` is started with. */
export const RequestRideInputSchema = s.inputOf({
  account: BusinessAccountSchema,
  requestId: s.described(CallerKeySchema, 'Your own id of the ride: the same id never books twice.'),
  order: OrderBodySchema,
  quote: s.optional(
    s.flag,
    'Ask for a price estimate immediately before each create, and send its quote_id. Price and currency are in rideStatus.',
  ),
  receipt: s.optional(s.flag, 'Wait for the receipt after the end.'),
  notify: s.optional(NotifyListSchema),
});
/** What `requestRide` is started with, as it is read. */
export type RequestRideInput = s.Read<typeof RequestRideInputSchema>;

/** Argument of the update `updateRide`. */
export const UpdateRideSchema = s.inputOf({ order: OrderBodySchema });

const formsOfResolution = ['orderId', 'tryAgain', 'giveUp,reason'];
/** Argument of the update `resolveRide`: what a person found out about a create whose outcome is unknown. */
export const RideResolutionSchema = s.oneOf(
  [
    s.inputOf({ orderId: OrderIdSchema }),
    s.inputOf({ tryAgain: s.yes }),
    s.inputOf({ giveUp: s.yes, reason: s.text() }),
  ],
  (set) => {
    const form = formsOfResolution.indexOf([...set].sort().join());
    return form >= 0 ? form : 'must be { orderId }, { tryAgain: true } or { giveUp: true, reason }';
  },
);
/** What a person found out about a create whose outcome is unknown. */
export type RideResolution = s.Read<typeof RideResolutionSchema>;

/** Reads a request id. Throws `InvalidInput`. */
export const toRideRequestId = (value: unknown): string => toCallerKey(value, 'requestId');

/** Reads the input of `requestRide`, which any language may send. Throws `InvalidInput` that names the field. */
export function parseRequestRideInput(value: unknown): RequestRideInput {
  const input = readRequestRideInput(value);
  if (input.quote === true) toEstimateBody(input.order);
  return input;
}
const readRequestRideInput = parserOf(RequestRideInputSchema);

/** Reads the argument of `updateRide`. Throws `InvalidInput`. */
export const parseUpdateRideInput = parserOf(UpdateRideSchema);

/** Reads the argument of `resolveRide`: one of its three forms. Throws `InvalidInput`. */
export const parseResolveRideInput = parserOf(RideResolutionSchema);

/** Reads the argument of each update of a ride, by the name of the update. */
const parsers = {
  updateRide: parseUpdateRideInput,
  cancelRide: parseNoInput,
  resolveRide: parseResolveRideInput,
} as const;

/** One of the updates of a ride. */
export type RideChange = keyof typeof parsers;

const readChange = parserOf(
  s.inputOf({
    account: AccountNameSchema,
    requestId: CallerKeySchema,
    change: s.wordOf(Object.keys(parsers) as RideChange[]),
    argument: s.anyObject() as s.Schema<object>,
  }),
);
/** What `changeRide` is started with: the name of an update, and its argument. */
export type ChangeRideInput = ReturnType<typeof readChange>;

/** Reads the input of `changeRide`. Throws `InvalidInput`, for an argument that the update would refuse, too. */
export function parseChangeRideInput(value: unknown): ChangeRideInput {
  const input = readChange(value);
  parsers[input.change](input.argument);
  return input;
}
