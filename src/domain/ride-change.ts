import { InvalidInput } from './errors.js';
import { toInputFields, toInputObject } from './input-fields.js';
import { toAccountName } from './keys.js';
import { parseCancelRideInput, parseResolveRideInput, parseUpdateRideInput, toRideRequestId } from './ride-input.js';
import type { RequestRideKey } from './workflow-ids.js';

/** Reads the argument of each update of a ride, by the name of the update. */
const parsers = {
  updateRide: parseUpdateRideInput,
  cancelRide: parseCancelRideInput,
  resolveRide: parseResolveRideInput,
} as const;

/** One of the updates of a ride. */
export type RideChange = keyof typeof parsers;

/** What `changeRide` is started with. */
export interface ChangeRideInput extends RequestRideKey {
  change: RideChange;
  /** Of that update. */
  argument: object;
}

const isRideChange = (name: unknown): name is RideChange => typeof name === 'string' && Object.hasOwn(parsers, name);

/** Reads the input of `changeRide`. Throws `InvalidInput`, for an argument that the update would refuse, too. */
export function parseChangeRideInput(value: unknown): ChangeRideInput {
  const { account, requestId, change, ...given } = toInputFields(value, ['account', 'requestId', 'change', 'argument']);
  const key = { account: toAccountName(account), requestId: toRideRequestId(requestId) };
  if (!isRideChange(change)) throw new InvalidInput(`change: must be one of ${Object.keys(parsers).join(', ')}`);
  const argument = toInputObject(given.argument);
  parsers[change](argument);
  return { ...key, change, argument };
}
