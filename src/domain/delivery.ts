import { InstantSchema, readInstant } from './instant.js';
import { type AccountName, type DeliveryId, type OrderId, toOrderId } from './keys.js';
import * as s from './schema.js';
import type { EventType } from './subscription/subscription.js';
import { companyReportId, followOrderId } from './workflow-ids.js';

const shortText = s.text(256);
/** A wrong number must not spoil the counts for good. */
const mostStoodFor = 1_000_000;
/** One webhook delivery in the signal `deliveryReceived`. */
export const DeliveryNoticeSchema = s.answerOf({
  deliveryId: shortText,
  eventType: shortText,
  receivedAt: InstantSchema,
  status: s.absentOr(shortText),
  eventTime: s.absentOr(s.described(InstantSchema, "When it happened, by the service's clock.")),
  isProven: s.absentOr(s.described(s.yes, 'It carried a valid signature of its subscription.')),
  standsFor: s.absentOr(
    s.described(s.wholeNumber(2, mostStoodFor), 'So many deliveries, itself included, of which only one is listed.'),
  ),
});

/** Argument of the signal `deliveryReceived`. */
export const DeliveryNoticesSchema = s.answerOf({ deliveries: s.listOf(DeliveryNoticeSchema) });

/** One webhook delivery as a run receives it: a hint, never the truth. */
export interface DeliveryNotice extends s.Read<typeof DeliveryNoticeSchema> {
  /** Of the trace that the delivery began, if tracing is on. An interceptor of the workflows reads it. */
  traceparent?: string;
}

/** A delivery in the ingress, from its 2xx until Temporal has it: what its run gets, and what the ingress needs for that. Never a raw body:
 *  that may hold a secret. */
export interface Delivery extends DeliveryNotice {
  account: AccountName;
  eventType: EventType;
  /** null: the body names none. */
  orderId: OrderId | null;
  deliveryId: DeliveryId;
  /** Set if the ingress admitted the delivery by its path alone. It checks generation and secret before it forwards the delivery. */
  uncheckedGeneration?: string;
  /** Why the ingress must park it. */
  parkReason?: ParkReason;
  /** JSON `{ body, headers, cut }` (body in base64), sealed under the webhook keys with `parkedDeliveryId` as context. Kept only
   *  for a later check or a person; for a person alone a long body is cut. */
  sealed?: string;
}

/** The subscription and the order of a delivery. They say which run takes it. */
export interface DeliveryAbout extends Pick<Delivery, 'account' | 'eventType' | 'orderId'> {
  deliveryId: string;
}

/** The id of the run that takes the delivery. A report that names no order has a run of its own. */
export function takingRunId({ account, eventType, orderId, deliveryId }: DeliveryAbout): string {
  const about = orderId === null ? (deliveryId as DeliveryId) : toOrderId(orderId);
  switch (eventType) {
    case 'status_changed':
      return followOrderId({ account, orderId: about as OrderId }); // the ingress parks one that names no order
    case 'business_report':
      return companyReportId({ account, about });
  }
}

/** What its run gets of a delivery. */
export const toDeliveryNotice = ({
  deliveryId,
  eventType,
  receivedAt,
  status,
  eventTime,
  isProven,
  traceparent,
}: Delivery): DeliveryNotice => ({
  ...{ deliveryId, eventType, receivedAt },
  ...(status !== undefined && { status }),
  ...(eventTime !== undefined && { eventTime }),
  ...(isProven && { isProven }),
  ...(traceparent !== undefined && { traceparent }),
});

/**
 * The most notices in one signal, about 7 KB. An order has about eight changes; a client takes at most 4 MB of history
 * in one reply.
 */
const noticesPerSignal = 50;

/**
 * The notices for a run with waiting deliveries: the oldest and the newest ones. The oldest also stands for those left
 * out.
 */
export function toDeliveryNotices(deliveries: readonly Delivery[]): DeliveryNotice[] {
  const leftOut = Math.max(0, deliveries.length - noticesPerSignal);
  const [oldest, ...others] = deliveries.map(toDeliveryNotice);
  if (oldest === undefined || leftOut === 0) return deliveries.map(toDeliveryNotice);
  return [{ ...oldest, standsFor: leftOut + 1 }, ...others.slice(leftOut)];
}

/** For how many deliveries these notices stand. */
export const deliveriesIn = (notices: readonly DeliveryNotice[]): number =>
  notices.reduce((sum, { standsFor = 1 }) => sum + standsFor, 0);

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= 256;

const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) > 1 && Number(value) <= mostStoodFor;

/**
 * Reads the argument of the signal `deliveryReceived`, which any program may send. Never throws, since an error would end or block
 * the run. An unreadable delivery counts as one of unknown content, so it still leads to a read.
 */
export function readDeliveries(value: unknown, now: string): DeliveryNotice[] {
  const list = (value as { deliveries?: unknown } | null)?.deliveries;
  if (!Array.isArray(list)) return [unreadable(now)];
  return list.map((item: Partial<Record<keyof DeliveryNotice, unknown>> | null) => {
    if (!item || !isText(item.deliveryId)) return unreadable(now);
    const eventTime = readInstant(item.eventTime);
    return {
      deliveryId: item.deliveryId,
      eventType: isText(item.eventType) ? item.eventType : 'unknown',
      receivedAt: readInstant(item.receivedAt) ?? now,
      ...(isText(item.status) ? { status: item.status } : {}),
      ...(eventTime === undefined ? {} : { eventTime }),
      ...(item.isProven === true ? { isProven: true as const } : {}),
      ...(isCount(item.standsFor) ? { standsFor: item.standsFor } : {}),
    };
  });
}

const unreadable = (now: string): DeliveryNotice => ({ deliveryId: '', eventType: 'unknown', receivedAt: now });

/** Not for one that stands for what no run could read. */
export const isReadable = ({ deliveryId }: DeliveryNotice): boolean => deliveryId !== '';

/** How many deliveries reached a run, and how many of them were duplicates. */
export const DeliveryCountsSchema = s.answerOf({ received: s.wholeNumber(), duplicate: s.wholeNumber() });
/** See `DeliveryCountsSchema`. */
export type DeliveryCounts = s.Read<typeof DeliveryCountsSchema>;

const maxSeen = 1_000;

/** Adds deliveries to the counts. `seen`: ids counted so far, newest last; an empty id is never a duplicate. */
export function countDeliveries(
  { received, duplicate }: DeliveryCounts,
  seen: readonly string[],
  deliveries: readonly DeliveryNotice[],
): { fresh: DeliveryNotice[]; counts: DeliveryCounts; seenDeliveries: string[] } {
  const known = new Set(seen);
  const fresh: DeliveryNotice[] = [];
  for (const delivery of deliveries) {
    if (delivery.deliveryId === '' || !known.has(delivery.deliveryId)) fresh.push(delivery);
    known.add(delivery.deliveryId);
  }
  const duplicates = deliveries.length - fresh.length;
  return {
    fresh,
    counts: { received: received + deliveriesIn(deliveries), duplicate: duplicate + duplicates },
    seenDeliveries: [...known].slice(-maxSeen),
  };
}

/** Why deliveries for an order wait for a person instead of starting a new run. */
export type EndParkReason = 'followingStopped' | 'endUnreadable';

/** Why a delivery was parked, in words for people. The last two: a person must decide because of how the run of its order ended. */
export const parkReasonTexts = {
  noOrderId: 'no order id was found in it',
  orderIdUnusable: 'its order id cannot be used',
  otherCompany: 'it names another company',
  otherEventType: 'it names another event type than its address',
  ambiguousBody: 'its body can be read in more than one way, or holds too much',
  wrongSecret: 'its secret is not that of the subscription',
  endedGeneration: 'its address was no longer accepted',
  neverSubscribed: 'no subscription exists for it',
  followingStopped: 'the following of its order was stopped',
  endUnreadable: 'how the following of its order ended cannot be read here',
} as const;

/** Why a delivery was parked. */
export type ParkReason = keyof typeof parkReasonTexts;

/** All of them. */
export const parkReasons = Object.keys(parkReasonTexts) as ParkReason[];

/**
 * What became of a delivery. `signalled`: the run that follows its order has it. `started`: it started such a run, for the first
 * time or again. `late`: its order has ended at the service. `ignored`: no run follows its order, and the account ignores such
 * orders. `reported`: the report of its order has it. The last two: no run has it, so the ingress parks it for that reason.
 */
export type DeliveryResult = 'signalled' | 'started' | 'late' | 'ignored' | 'reported' | EndParkReason;

/** Must deliveries with this result be parked? */
export const isEndParkReason = (result: DeliveryResult | ParkReason): result is EndParkReason =>
  result === 'followingStopped' || result === 'endUnreadable';
