import { toCallerKey } from '../call.js';
import { InvalidInput } from '../errors.js';
import { checkDepth, parseNoInput, toInputFields, toInputObject, toInputText } from '../input-fields.js';
import { type AccountName, type OrderId, toAccountName, toOrderId } from '../keys.js';
import { type Notify, toNotify } from '../notify/receivers.js';
import type { RequestRideKey } from '../workflow-ids.js';

/** What `requestRide` is started with. */
export interface RequestRideInput {
  account: AccountName;
  /** The caller's own id of the ride, made before the first call: the same id never books twice. */
  requestId: string;
  /** Body of create order; what we know of it is checked when it is sent, all else passes. */
  order: Record<string, unknown>;
  /** Wait for the receipt after the end. */
  receipt?: boolean;
  /** Who is told of each change of the order, as for `followOrder`. */
  notify?: Notify[];
}

/** Argument of `resolveRide`: what a person found out about a create whose outcome is unknown. */
export type RideResolution = { orderId: OrderId } | { tryAgain: true } | { giveUp: true; reason: string };

/** In characters of its JSON: far more than an order with seven stops has, and Temporal keeps it for good. */
const maxOrderLength = 65_536;

/** Reads a request id. Throws `InvalidInput`. */
export const toRideRequestId = (value: unknown): string => toCallerKey(value, 'requestId');

function toOrderBody(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidInput('order: must be a JSON object, the body of create order or a part of it');
  }
  if (Object.keys(value).length === 0) throw new InvalidInput('order: must not be empty');
  const json = JSON.stringify(value);
  if (json.length > maxOrderLength) {
    throw new InvalidInput(`order: must have at most ${maxOrderLength} characters as JSON`);
  }
  checkDepth(json, 'order');
  return value as Record<string, unknown>;
}

function toFlag(value: unknown, field: string): boolean {
  if (typeof value !== 'boolean') throw new InvalidInput(`${field}: must be true or false`);
  return value;
}

/**
 * Reads the input of `requestRide`, which any language may send. Throws `InvalidInput` that names the field; unknown
 * fields are refused, so that a misspelt option is never silently without effect.
 */
export function parseRequestRideInput(value: unknown): RequestRideInput {
  const known = ['account', 'requestId', 'order', 'receipt', 'notify'] as const;
  const fields = toInputFields(value, known);
  // JSON made by other languages often says null for a field that is not set.
  const given = (key: (typeof known)[number]): boolean => fields[key] !== undefined && fields[key] !== null;
  return {
    account: toAccountName(fields.account),
    requestId: toRideRequestId(fields.requestId),
    order: toOrderBody(fields.order),
    ...(given('receipt') ? { receipt: toFlag(fields.receipt, 'receipt') } : {}),
    ...(given('notify') ? { notify: toNotify(fields.notify) } : {}),
  };
}

/** Reads the argument of `updateRide`. Throws `InvalidInput`. */
export const parseUpdateRideInput = (value: unknown): { order: Record<string, unknown> } => ({
  order: toOrderBody(toInputFields(value, ['order']).order),
});

/** Reads the argument of `cancelRide`. Throws `InvalidInput`. */
export const parseCancelRideInput = parseNoInput;

/** Reads the argument of `resolveRide`: one of its three forms. Throws `InvalidInput`. */
export function parseResolveRideInput(value: unknown): RideResolution {
  const fields = toInputFields(value, ['orderId', 'tryAgain', 'giveUp', 'reason']);
  const given = Object.entries(fields)
    .filter(([, field]) => field !== undefined && field !== null)
    .map(([name]) => name)
    .sort()
    .join();
  if (given === 'orderId') return { orderId: toOrderId(fields.orderId) };
  if (given === 'tryAgain' && fields.tryAgain === true) return { tryAgain: true };
  if (given === 'giveUp,reason' && fields.giveUp === true) {
    return { giveUp: true, reason: toInputText(fields.reason, 'reason') };
  }
  throw new InvalidInput('input: must be { orderId }, { tryAgain: true } or { giveUp: true, reason }');
}

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
