import {
  type Delivery,
  type DeliveryNotice,
  type DeliveryResult,
  isEndParkReason,
  type ParkReason,
  toDeliveryNotice,
} from '../../domain/delivery.js';
import { FaretrailError } from '../../domain/errors.js';
import type { OrderId } from '../../domain/keys.js';
import { type EventType, mustNameOrder } from '../../domain/subscription/subscription.js';
import type { SubscriptionKey } from '../../domain/workflow-ids.js';
import type { Starts } from './starts.js';

/** Checks a delivery that was admitted by its path alone. Gives why it must be parked, or null. Rejects while it cannot check. */
export type DeliveryCheck = (delivery: Delivery) => Promise<ParkReason | null>;

/** Receives the results of forwarded deliveries, for metrics. */
export type OnForwarded = (about: SubscriptionKey, result: DeliveryResult | 'parked', deliveries: number) => void;

export interface RoutingPorts {
  port: Pick<Starts, 'toOrder' | 'toReport' | 'park'>;
  check: DeliveryCheck;
  onForwarded?: OnForwarded;
}

/** The deliveries that Temporal has, and the first error of the others. */
export interface RoutingResult {
  done: ReadonlySet<Delivery>;
  error: Error | null;
}

/** Carries deliveries that share account, event type and order id to their run in one call, and parks others singly. */
export type RouteDeliveries = (deliveries: readonly Delivery[]) => Promise<RoutingResult>;

/** Each parked delivery is one call. Many calls at once would occupy the connection. */
const parkedAtOnce = 8;

type SignalDeliveries = (
  port: RoutingPorts['port'],
  about: Delivery,
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
  /** Why the delivery must be parked; null: it goes to its run. */
  async function judge(delivery: Delivery): Promise<ParkReason | null> {
    const { parkReason, uncheckedGeneration, eventType, orderId } = delivery;
    const refusal = uncheckedGeneration === undefined ? null : await check(delivery);
    if (refusal !== null || parkReason !== undefined) return refusal ?? parkReason ?? null;
    return mustNameOrder[eventType] && orderId === null ? 'noOrderId' : null;
  }

  /** Gives the reason why the deliveries must be parked instead, or null. */
  async function signal(deliveries: readonly Delivery[], first: Delivery): Promise<ParkReason | null> {
    const result = await signalByType[first.eventType](port, first, deliveries.map(toDeliveryNotice));
    if (isEndParkReason(result)) return result;
    onForwarded?.(first, result, deliveries.length);
    return null;
  }

  async function park(delivery: Delivery, reason: ParkReason): Promise<void> {
    const { account, eventType, orderId, deliveryId, receivedAt, sealed = '' } = delivery;
    const aboutOrder = orderId !== null && isEndParkReason(reason) ? { aboutOrderId: orderId } : {};
    await port.park({ account, eventType, deliveryId, receivedAt, reason, sealed, ...aboutOrder });
    onForwarded?.(delivery, 'parked', 1);
  }

  return async (deliveries) => {
    const done = new Set<Delivery>();
    const toSignal: Delivery[] = [];
    const toPark: (readonly [Delivery, ParkReason])[] = [];
    let error: Error | null = null;
    const note = (cause: unknown): void => {
      error ??= toError(cause);
    };
    const verdicts = await Promise.allSettled(deliveries.map(judge));
    for (const [index, delivery] of deliveries.entries()) {
      const verdict = verdicts[index];
      if (verdict?.status !== 'fulfilled') note(verdict?.reason);
      else if (verdict.value === null) toSignal.push(delivery);
      else toPark.push([delivery, verdict.value]);
    }
    const [first] = toSignal;
    if (first)
      await signal(toSignal, first).then((reason) => {
        for (const one of toSignal) reason === null ? done.add(one) : toPark.push([one, reason]);
      }, note);
    for (let from = 0; from < toPark.length; from += parkedAtOnce)
      await Promise.all(
        toPark
          .slice(from, from + parkedAtOnce)
          .map(([one, reason]) => park(one, reason).then(() => done.add(one), note)),
      );
    return { done, error };
  };
}

/** Forwards without a journal. Resolves when Temporal has the delivery, so that the ingress may answer 2xx. */
export function createDirectForwarding(ports: RoutingPorts): (delivery: Delivery) => Promise<void> {
  const route = createRouting(ports);
  return async (delivery) => {
    const { error } = await route([delivery]);
    if (error) throw error;
  };
}

const toError = (error: unknown): Error =>
  error instanceof Error ? error : new FaretrailError('ForwardFailed', 'a delivery could not be forwarded');
