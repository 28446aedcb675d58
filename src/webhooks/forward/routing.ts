import { type DeliveryNotice, type DeliveryResult, isEndParkReason, type ParkReason } from '../../domain/delivery.js';
import { FaretrailError } from '../../domain/errors.js';
import type { OrderId } from '../../domain/keys.js';
import { type EventType, mustNameOrder } from '../../domain/subscription/subscription.js';
import type { SubscriptionKey } from '../../domain/workflow-ids.js';
import type { DeliveryPort } from '../delivery-port.js';
import type { JournaledDelivery } from '../journal/entries.js';

/** Checks a delivery that was admitted by its path alone. Gives why it must be parked, or null. Rejects while it cannot check. */
export type DeliveryCheck = (delivery: JournaledDelivery) => Promise<ParkReason | null>;

/** Receives the results of forwarded deliveries, for metrics. */
export type OnForwarded = (about: SubscriptionKey, result: DeliveryResult | 'parked', deliveries: number) => void;

export interface RoutingPorts {
  port: Pick<DeliveryPort, 'toOrder' | 'toReport' | 'park'>;
  check: DeliveryCheck;
  onForwarded?: OnForwarded;
}

/** The deliveries that Temporal has, by their index, and the first error of the others. */
export interface RoutingResult {
  done: number[];
  error: Error | null;
}

/** Carries deliveries that share account, event type and order id to their run in one call, and parks others singly. */
export type RouteDeliveries = (deliveries: readonly JournaledDelivery[]) => Promise<RoutingResult>;

interface Judged {
  index: number;
  delivery: JournaledDelivery;
  reason: ParkReason | null;
}

/** Each parked delivery is one call. Many calls at once would occupy the connection. */
const parkedAtOnce = 8;

type SignalDeliveries = (
  port: RoutingPorts['port'],
  about: JournaledDelivery,
  deliveries: DeliveryNotice[],
) => Promise<DeliveryResult>;

/** How deliveries reach their run, by event type. */
const signalByType: Record<EventType, SignalDeliveries> = {
  // The ingress parked a delivery without the order that it must name.
  status_changed: (port, { account, orderId }, deliveries) =>
    port.toOrder({ account, orderId: orderId as OrderId }, deliveries),
  business_report: (port, { account, orderId, deliveryId }, deliveries) =>
    port.toReport({ account, about: orderId ?? deliveryId }, deliveries),
};

/** Makes the function that decides where deliveries go, and carries them there. */
export function createRouting({ port, check, onForwarded }: RoutingPorts): RouteDeliveries {
  async function judge(delivery: JournaledDelivery, index: number): Promise<Judged> {
    const { parkReason, uncheckedGeneration, eventType, orderId } = delivery;
    const refusal = uncheckedGeneration === undefined ? null : await check(delivery);
    const reason = refusal ?? parkReason ?? null;
    const hasNoPlace = reason === null && mustNameOrder[eventType] && orderId === null;
    return { index, delivery, reason: hasNoPlace ? 'noOrderId' : reason };
  }

  /** Gives the reason why the deliveries must be parked instead, or null. */
  async function signal(judged: readonly Judged[]): Promise<ParkReason | null> {
    const [first] = judged;
    if (!first) return null;
    const deliveries = judged.map(({ delivery }) => toDeliveryNotice(delivery));
    const result = await signalByType[first.delivery.eventType](port, first.delivery, deliveries);
    if (isEndParkReason(result)) return result;
    onForwarded?.(first.delivery, result, judged.length);
    return null;
  }

  async function park({ delivery, reason }: Judged): Promise<null> {
    const { account, eventType, orderId, deliveryId, receivedAt, sealed = '' } = delivery;
    if (reason === null) return null;
    const aboutOrder = orderId !== null && isEndParkReason(reason) ? { aboutOrderId: orderId } : {};
    await port.park({ account, eventType, deliveryId, receivedAt, reason, sealed, ...aboutOrder });
    onForwarded?.(delivery, 'parked', 1);
    return null;
  }

  return async (deliveries) => {
    const result: RoutingResult = { done: [], error: null };
    /** Gives the deliveries that must be parked. */
    const attempt = async (judged: readonly Judged[], act: () => Promise<ParkReason | null>): Promise<Judged[]> => {
      try {
        const reason = await act();
        if (reason !== null) return judged.map((one) => ({ ...one, reason }));
        result.done.push(...judged.map(({ index }) => index));
      } catch (error) {
        result.error ??= toError(error);
      }
      return [];
    };
    const verdicts = await Promise.allSettled(deliveries.map(judge));
    const judged = verdicts.flatMap((verdict) => (verdict.status === 'fulfilled' ? [verdict.value] : []));
    const unknown = verdicts.find((verdict) => verdict.status === 'rejected');
    if (unknown) result.error = toError(unknown.reason);
    const toSignal = judged.filter(({ reason }) => reason === null);
    const refused = await attempt(toSignal, () => signal(toSignal));
    const toPark = [...judged.filter(({ reason }) => reason !== null), ...refused];
    for (let from = 0; from < toPark.length; from += parkedAtOnce) {
      const some = toPark.slice(from, from + parkedAtOnce);
      await Promise.all(some.map((one) => attempt([one], () => park(one))));
    }
    return result;
  };
}

/** Forwards without a journal. Resolves when Temporal has the delivery, so that the ingress may answer 2xx. */
export function createDirectForwarding(ports: RoutingPorts): (delivery: JournaledDelivery) => Promise<void> {
  const route = createRouting(ports);
  return async (delivery) => {
    const { error } = await route([delivery]);
    if (error) throw error;
  };
}

/** What the run gets of a delivery. */
function toDeliveryNotice({
  deliveryId,
  eventType,
  receivedAt,
  status,
  traceparent,
}: JournaledDelivery): DeliveryNotice {
  return {
    ...{ deliveryId, eventType, receivedAt },
    ...(status !== undefined && { status }),
    ...(traceparent !== undefined && { traceparent }),
  };
}

const toError = (error: unknown): Error =>
  error instanceof Error ? error : new FaretrailError('ForwardFailed', 'a delivery could not be forwarded');
