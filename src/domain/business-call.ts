import type { Attention } from './attention.js';
import type { AccountName, OrderId } from './keys.js';

/** The operations of the business interface that a caller may ask for by name (given, upstream section 5). */
export const businessOperations = [
  'companySettings',
  'products',
  'createOrder',
  'orderDetails',
  'updateOrder',
  'cancelOrder',
  'addReferenceCode',
  'orderReceipt',
] as const;

/** One of `businessOperations`. */
export type BusinessOperation = (typeof businessOperations)[number];

/** Input of the workflow `businessCall`. */
export interface BusinessCallInput {
  account: AccountName;
  operation: BusinessOperation;
  /** The caller's identity of this call: the same key never makes a second effect. */
  key: string;
  /** For the operations about one order. */
  orderId?: OrderId;
  /** For `addReferenceCode`. */
  referenceFieldId?: string;
  /** Sent as it is; what we know of it is checked first. */
  body?: unknown;
}

/** Result of `businessCall`. */
export interface BusinessCallResult {
  operation: BusinessOperation;
  /** Of HTTP. */
  status: number;
  /** The parsed answer; null when there was none. Who the driver is only while payloads are encrypted. */
  body: unknown;
  /** Of `createOrder` only. */
  orderId?: OrderId;
}

/** One call for the activity `callService`. */
export interface ServiceCall extends Omit<BusinessCallInput, 'key'> {
  /** Stands in the header that keeps the service from doing this twice, where the profile names one. Fixed before the
   *  first attempt (upstream R11). */
  requestId: string;
}

/** Operations that may have an effect even when no answer comes. */
const changingOperations: readonly BusinessOperation[] = [
  'createOrder',
  'updateOrder',
  'cancelOrder',
  'addReferenceCode',
];

/** Does a call of it change something at the service? */
export const isChanging = (operation: BusinessOperation): boolean => changingOperations.includes(operation);

/**
 * Types of the failures that a caller can switch on. `Refused` has `{ status, code, message }` of the service as details.
 * `OutcomeUnknown`: it may have been carried out; `Unavailable`: it was not, for want of an answer or of a worker.
 */
export const callFailureTypes = [
  'InvalidInput',
  'OrderNotFound',
  'Forbidden',
  'Refused',
  'CredentialsRejected',
  'OutcomeUnknown',
  'Unavailable',
] as const;

/** One of `callFailureTypes`. */
export type CallFailureType = (typeof callFailureTypes)[number];

/** Is this the type of a failure that callers know? */
export const isCallFailureType = (type: unknown): type is CallFailureType =>
  callFailureTypes.some((known) => known === type);

/** Shown of a call that has come to no end for long. `since` is an ISO instant. */
export const callWaits = (
  { operation, account }: Pick<ServiceCall, 'operation' | 'account'>,
  since: string,
): Attention => ({
  code: 'upstreamUnavailable',
  message: `${operation} has come to no end yet. Look at the service, the network, and whether a worker of account ${account} runs; the pending activity of this run says what its last attempt met.`,
  since,
});
