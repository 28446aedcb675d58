import { setTimeout as sleep } from 'node:timers/promises';
import pMap from 'p-map';
import { InvalidInput } from '../../../src/domain/errors.js';
import { type LiveOrder, type OrderBook, statusAt } from '../order/orders.js';
import type { Subscriber, SubscriberBook } from '../subscription/subscribers.js';
import { isDelivered } from './ledger.js';
import type { DeliveryReport, DeliveryRequest } from './requests.js';
import type { NumberedTidings, Tidings } from './writer.js';

/** What the commands about deliveries use. */
export interface RunPorts {
  orders: Pick<OrderBook, 'find'>;
  subscribers: Pick<SubscriberBook, 'find' | 'of' | 'all'>;
  number(tidings: Tidings): NumberedTidings;
  /** 0 to 1. */
  random(): number;
}

/** One delivery of a command. */
export interface PlannedDelivery {
  subscriber: Subscriber;
  tidings: NumberedTidings;
}

/** All deliveries of a request, in the order of sending. Throws `InvalidInput`. */
export function plannedDeliveries(request: DeliveryRequest, ports: RunPorts): PlannedDelivery[] {
  const receivers = receiversOf(request, ports.subscribers);
  const planned = Array.from({ length: request.count }).flatMap(() =>
    toldBy(request, ports.orders).flatMap((told) => {
      const tidings = ports.number(told);
      return receivers.map((subscriber) => ({ subscriber, tidings }));
    }),
  );
  return arranged(planned, request, ports.random);
}

function receiversOf({ eventType, subscriberId }: DeliveryRequest, subscribers: RunPorts['subscribers']): Subscriber[] {
  if (subscriberId === undefined) {
    const all = eventType === 'test.event.updated' ? subscribers.all() : subscribers.of(eventType);
    if (all.length === 0) throw new InvalidInput(`eventType: no subscriber exists for ${eventType}`);
    return all;
  }
  const one = subscribers.find(subscriberId);
  if (!one) throw new InvalidInput('subscriberId: no such subscriber');
  return [one];
}

/** One for each order and status. */
function toldBy({ eventType, interface: at, orderIds, statuses }: DeliveryRequest, orders: RunPorts['orders']) {
  const now = (live: LiveOrder | undefined) => (live ? statusAt(live, Date.now()) : 'Routing');
  if (eventType === 'employee_updated')
    return (statuses ?? ['update']).map((status): Tidings => ({ eventType, status }));
  const ids: readonly (string | undefined)[] = orderIds.length > 0 ? orderIds : [undefined];
  return ids.flatMap((orderId): Tidings[] => {
    const told = statuses ?? [now(orderId === undefined ? undefined : orders.find(at, orderId))];
    return told.map((status) => ({ eventType, orderId, ...(eventType === 'status_changed' && { status }) }));
  });
}

function arranged<T>(items: readonly T[], { copies, arrangement }: DeliveryRequest, random: () => number): T[] {
  const all = items.flatMap((item) => Array.from({ length: copies }, () => item));
  if (arrangement === 'reversed') return all.reverse();
  if (arrangement === 'asGiven') return all;
  const drawn = all.map((item) => ({ item, place: random() }));
  return drawn.sort((a, b) => a.place - b.place).map(({ item }) => item);
}

/** Sends all of them after a wait, a limited number at a time. Stops once `isOver` is true. */
export async function sendAll(
  planned: readonly PlannedDelivery[],
  { concurrency, delayMs }: DeliveryRequest,
  { send, isOver }: { send(one: PlannedDelivery): Promise<number | null>; isOver(): boolean },
): Promise<DeliveryReport> {
  if (delayMs > 0) await sleep(delayMs, undefined, { ref: false });
  const startedAt = performance.now();
  const report: DeliveryReport = { sent: 0, delivered: 0, byAnswer: {}, ms: 0 };
  await pMap(
    planned,
    async (one) => {
      if (isOver()) return;
      const answer = await send(one);
      report.sent += 1;
      report.byAnswer[answer ?? 'none'] = (report.byAnswer[answer ?? 'none'] ?? 0) + 1;
      if (isDelivered(answer)) report.delivered += 1;
    },
    { concurrency },
  );
  return { ...report, ms: Math.round(performance.now() - startedAt) };
}
