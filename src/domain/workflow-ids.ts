import { type BusinessCallInput, businessOperations } from './call.js';
import {
  type AccountName,
  type DeliveryId,
  type OrderId,
  orderIdIn,
  type Scope,
  spellingsOf,
  toScope,
} from './keys.js';
import type { Notify, SignalReceiver } from './notify/receivers.js';
import { type EventType, isEventType } from './subscription/subscription.js';
import { defaultTaskQueue } from './task-queues.js';

/** Identifies one followed order. */
export interface FollowOrderKey {
  account: AccountName;
  orderId: OrderId;
}

/** Identifies one token lease: the fleet holds one token per key. */
export interface AccessTokenKey {
  account: AccountName;
  scope: Scope;
  /** Keyed hash of client id and secret, so that old and new credentials live side by side while they change. */
  credentialId: string;
}

/** Id of the `followOrder` workflow of an order. No part can hold a "/": `toAccountName` and `toOrderId` refuse it. */
export const followOrderId = ({ account, orderId }: FollowOrderKey): string => `order/${account}/${orderId}`;

/** The inverse of `followOrderId`; undefined for any other id. The order id is spelled as there. */
export function fromFollowOrderId(workflowId: string): FollowOrderKey | undefined {
  const [, account, orderId] = /^order\/([a-z0-9-]{1,40})\/([^/]+)$/.exec(workflowId) ?? [];
  const isOurs = account && orderId && orderIdIn(orderId);
  return isOurs ? { account: account as AccountName, orderId: orderId as OrderId } : undefined;
}

/** Id of the `accessToken` workflow of a key: scope values joined by "+", `unscoped` when there are none. */
export function accessTokenId({ account, scope, credentialId }: AccessTokenKey): string {
  return `token/${account}/${scope === '' ? 'unscoped' : scope.replaceAll(' ', '+')}/${credentialId}`;
}

/** The inverse of `accessTokenId`; undefined for any other id. */
export function fromAccessTokenId(workflowId: string): AccessTokenKey | undefined {
  const [, account, scope, credentialId] = /^token\/([a-z0-9-]{1,40})\/([^/]+)\/([^/]+)$/.exec(workflowId) ?? [];
  if (!account || !scope || !credentialId) return undefined;
  return { account: account as AccountName, scope: toScope(scope === 'unscoped' ? '' : scope), credentialId };
}

/**
 * Id of the `accountWatch` workflow of an account. An installation beside another one in the same namespace has another main task queue,
 * and watches of its own: workers of one never see the orders of the other.
 */
export const accountWatchId = (account: AccountName, taskQueue: string): string =>
  taskQueue === defaultTaskQueue ? `watch/${account}` : `watch/${account}/${taskQueue}`;

/** The inverse of `accountWatchId`; undefined for any other id. */
export function fromAccountWatchId(workflowId: string): { account: AccountName } | undefined {
  const [, account] = /^watch\/([a-z0-9-]{1,40})(\/.+)?$/.exec(workflowId) ?? [];
  return account ? { account: account as AccountName } : undefined;
}

/** Identifies one subscription: an account and one event type. */
export interface SubscriptionKey {
  account: AccountName;
  eventType: EventType;
}

/** Id of the `subscription` workflow of a key. */
export const subscriptionId = ({ account, eventType }: SubscriptionKey): string =>
  `subscription/${account}/${eventType}`;

/** The inverse of `subscriptionId`; undefined for any other id. */
export function fromSubscriptionId(workflowId: string): SubscriptionKey | undefined {
  const [, account, eventType] = /^subscription\/([a-z0-9-]{1,40})\/(\w+)$/.exec(workflowId) ?? [];
  return account && eventType && isEventType(eventType) ? { account: account as AccountName, eventType } : undefined;
}

/** Identifies one company report: the order that it is about, or the delivery when that names no order. */
export interface CompanyReportKey {
  account: AccountName;
  about: OrderId | DeliveryId;
}

/** Id of the `companyReport` workflow of a key. */
export const companyReportId = ({ account, about }: CompanyReportKey): string => `report/${account}/${about}`;

/** The inverse of `companyReportId`; undefined for any other id. What it is about is spelled as there. */
export function fromCompanyReportId(workflowId: string): CompanyReportKey | undefined {
  const [, account, about] = /^report\/([a-z0-9-]{1,40})\/([^/]+)$/.exec(workflowId) ?? [];
  const isOurs = account && about && orderIdIn(about);
  return isOurs ? { account: account as AccountName, about: about as OrderId } : undefined;
}

/** The id that a run of release 0.2.0 about the same order may have, since it spelled UUIDs as they came; undefined: no other than this. */
export function earlierId(workflowId: string): string | undefined {
  const [, about = '', id = ''] = /^((?:order|report)\/[a-z0-9-]{1,40}\/)([^/]+)$/.exec(workflowId) ?? [];
  const [own, other] = spellingsOf(id);
  return id === own && other ? `${about}${other}` : undefined;
}

/** Identifies one parked delivery. */
export interface ParkedDeliveryKey {
  account: AccountName;
  /** 32 hex digits. */
  deliveryId: string;
}

/** Id of the `parkedDelivery` workflow of a key. */
export const parkedDeliveryId = ({ account, deliveryId }: ParkedDeliveryKey): string =>
  `parked/${account}/${deliveryId}`;

/** The inverse of `parkedDeliveryId`; undefined for any other id. */
export function fromParkedDeliveryId(workflowId: string): ParkedDeliveryKey | undefined {
  const [, account, deliveryId] = /^parked\/([a-z0-9-]{1,40})\/([0-9a-f]{32})$/.exec(workflowId) ?? [];
  return account && deliveryId ? { account: account as AccountName, deliveryId } : undefined;
}

/** Identifies one requested ride. */
export interface RequestRideKey {
  account: AccountName;
  requestId: string;
}

/** Id of the `requestRide` workflow of a key. */
export const requestRideId = ({ account, requestId }: RequestRideKey): string => `ride/${account}/${requestId}`;

/** The inverse of `requestRideId`; undefined for any other id. */
export function fromRequestRideId(workflowId: string): RequestRideKey | undefined {
  const [, account, requestId] = /^ride\/([a-z0-9-]{1,40})\/([A-Za-z0-9._~-]{1,100})$/.exec(workflowId) ?? [];
  return account && requestId ? { account: account as AccountName, requestId } : undefined;
}

/** Name of the signal by which a ride learns of changes of its order. */
export const rideOrderChanged = 'rideOrderChanged';

/** Is the receiver a ride of this account? Then that ride has made the order. */
export const isRideReceiver = (receiver: Notify, account: AccountName): receiver is SignalReceiver =>
  'signal' in receiver &&
  receiver.signal === rideOrderChanged &&
  fromRequestRideId(receiver.workflowId)?.account === account;

/** Id of the `changeRide` workflow of one change for a caller. `changeId`: made for the caller's one request, however often it comes. */
export const changeRideId = ({ account, requestId, changeId }: RequestRideKey & { changeId: string }): string =>
  `change/${account}/${requestId}/${changeId}`;

/** Identifies one call of a business operation. `toCallerKey` refuses a "/" in the key. */
export type BusinessCallKey = Pick<BusinessCallInput, 'account' | 'operation' | 'key'>;

/** Id of the `businessCall` workflow of a key. */
export const businessCallId = ({ account, operation, key }: BusinessCallKey): string =>
  `call/${account}/${operation}/${key}`;

/** The inverse of `businessCallId`; undefined for any other id. */
export function fromBusinessCallId(workflowId: string): BusinessCallKey | undefined {
  const [, account, name, key] = /^call\/([a-z0-9-]{1,40})\/(\w+)\/([A-Za-z0-9._~-]{1,100})$/.exec(workflowId) ?? [];
  const operation = businessOperations.find((one) => one === name);
  return account && operation && key ? { account: account as AccountName, operation, key } : undefined;
}

/** Identifies the notices that a run, and those that continue it as new, tell one URL or the store. */
export interface NoticesKey {
  /** Workflow id of that run. */
  about: string;
  /** Its first run. */
  firstRunId: string;
  /** The place of the URL among the receivers, or `store`. */
  receiver: string;
}

/** Id of the `notices` workflow of a key. */
export const noticesId = ({ about, firstRunId, receiver }: NoticesKey): string =>
  `notices/${about}/${firstRunId}/${receiver}`;

/** The inverse of `noticesId`; undefined for any other id. */
export function fromNoticesId(workflowId: string): NoticesKey | undefined {
  const [, about, firstRunId, receiver] = /^notices\/(.+)\/([^/]+)\/([^/]+)$/.exec(workflowId) ?? [];
  return about && firstRunId && receiver ? { about, firstRunId, receiver } : undefined;
}
