import { isSameStatus } from '../../../src/domain/order/status.js';
import { createOrderAnnouncer, type StatusChange } from '../order/announcer.js';
import type { OrderBook } from '../order/orders.js';
import type { SubscriberBook } from '../subscription/subscribers.js';
import { createDeliveryAttempts } from './attempts.js';
import { createDeliveryLedger } from './ledger.js';
import { type DeliveryReport, type DeliveryRequestInput, DeliveryRequestSchema } from './requests.js';
import { plannedDeliveries, sendAll } from './runs.js';
import { createDeliverySender } from './sender.js';
import { changedSettings, type DeliveryChange, type DeliverySettings, defaultDeliverySettings } from './settings.js';
import { createDeliveryWriter, type Tidings } from './writer.js';

export interface DeliveryPorts {
  orders: OrderBook;
  subscribers: SubscriberBook;
  businessId: string;
  /** The request id of an order, if deliveries name it. */
  speed: number;
  /** 0 to 1. */
  random: () => number;
  /** Settings at the start, over the defaults. */
  change: DeliveryChange;
}

export type Deliveries = ReturnType<typeof createDeliveries>;

/** The part of the service that sends deliveries to subscribers. Throws `ZodError` for bad settings. */
export function createDeliveries({ orders, subscribers, speed, random, change, ...ports }: DeliveryPorts) {
  let current = changedSettings(defaultDeliverySettings, change);
  const settings = (): DeliverySettings => current;
  const ledger = createDeliveryLedger();
  const writer = createDeliveryWriter({ settings, ...ports });
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
    /** Changes some of the settings, and gives all of them. Throws `ZodError`. */
    setSettings(given: DeliveryChange): DeliverySettings {
      current = changedSettings(current, given);
      announcer.update();
      return current;
    },
    stepsChanged: announcer.stepsChanged,
    subscribersChanged: announcer.update,
    /** Sends the deliveries of a command. Resolves after the first attempt of each. Throws `ZodError`, `InvalidInput`. */
    async deliver(input: DeliveryRequestInput): Promise<DeliveryReport> {
      const request = DeliveryRequestSchema.parse(input);
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
