import { isSameStatus } from '../../../src/domain/order/status.js';
import { createOrderAnnouncer, type StatusChange } from '../order/announcer.js';
import type { OrderBook } from '../order/orders.js';
import { changed } from '../ride/settings.js';
import type { SubscriberBook } from '../subscription/subscribers.js';
import { createDeliveryAttempts } from './attempts.js';
import { createDeliveryLedger } from './ledger.js';
import type { DeliveryReport, DeliveryRequest } from './requests.js';
import { plannedDeliveries, sendAll } from './runs.js';
import { createDeliverySender } from './sender.js';
import { type DeliverySettings, defaultDeliverySettings } from './settings.js';
import { createDeliveryWriter, type Tidings } from './writer.js';

export interface DeliveryPorts {
  orders: OrderBook;
  subscribers: SubscriberBook;
  businessId: string;
  speed: number;
  /** 0 to 1. */
  random: () => number;
  /** Settings at the start, over the defaults. */
  change: Parameters<typeof changed<DeliverySettings>>[1];
}

export type Deliveries = ReturnType<typeof createDeliveries>;

/** The part of the service that sends deliveries to subscribers. */
export function createDeliveries({ orders, subscribers, businessId, speed, random, change }: DeliveryPorts) {
  let current = changed(defaultDeliverySettings, change);
  const settings = (): DeliverySettings => current;
  const ledger = createDeliveryLedger();
  const writer = createDeliveryWriter(settings, businessId);
  const isLive = (subscriberId: string) => subscribers.find(subscriberId) !== undefined;
  const attempts = createDeliveryAttempts({ settings, ledger, sender: createDeliverySender(), speed, isLive });

  function tell(tidings: Tidings): void {
    for (const subscriber of subscribers.of(tidings.eventType)) {
      if (random() < current.lost) {
        ledger.countLost();
        continue;
      }
      const delivery = writer.write(subscriber, writer.number(tidings));
      const copies = random() < current.duplicated ? 2 : 1;
      for (let i = 0; i < copies; i += 1) attempts.submit(delivery, Math.floor(random() * current.delayUpToMs));
    }
  }

  const announcer = createOrderAnnouncer({
    orders: orders.all,
    isWanted: ({ order }) =>
      current.enabled && (order.interface === 'business' || current.partnerOrders) && subscribers.count() > 0,
    countsFirstStatus: () => current.firstStatus,
    announce: ({ order, status, previousStatus }: StatusChange) => {
      const { orderId } = order.order;
      tell({ eventType: 'status_changed', orderId, status, previousStatus });
      if (current.reportWhenCompleted && isSameStatus(status, 'Completed'))
        tell({ eventType: 'business_report', orderId, status: undefined });
    },
  });

  return {
    ledger,
    settings,
    /** Changes some of the settings, and gives all of them. */
    setSettings(given: Parameters<typeof changed<DeliverySettings>>[1]): DeliverySettings {
      current = changed(current, given);
      announcer.update();
      return current;
    },
    stepsChanged: announcer.stepsChanged,
    subscribersChanged: announcer.update,
    /** Sends the deliveries of a command. Resolves after the first attempt of each. Throws `InvalidInput`. */
    async deliver(request: DeliveryRequest): Promise<DeliveryReport> {
      const planned = plannedDeliveries(request, { orders, subscribers, number: writer.number, random });
      return await sendAll(planned, request, {
        send: ({ subscriber, tidings }) => attempts.sendNow(writer.write(subscriber, tidings, request), request),
        isOver: attempts.isClosed,
      });
    },
    async close(): Promise<void> {
      announcer.close();
      await attempts.close();
    },
  };
}
