import { createOrderAnnouncer } from '../order/announcer.js';
import type { OrderBook } from '../order/orders.js';
import { changed } from '../ride/settings.js';
import type { SubscriberBook } from '../subscription/subscribers.js';
import { createDeliveryAttempts } from './attempts.js';
import { createDeliveryLedger } from './ledger.js';
import type { DeliveryReport, DeliveryRequest } from './requests.js';
import { plannedDeliveries, sendAll } from './runs.js';
import type { DeliverySender } from './sender.js';
import { type DeliveryChange, type DeliverySettings, defaultDeliverySettings } from './settings.js';
import { drawnHeader } from './signature.js';
import { createDeliveryWriter, type Tidings, type WriterPorts } from './writer.js';

export interface DeliveryPorts extends Pick<WriterPorts, 'productOf'> {
  orders: OrderBook;
  subscribers: SubscriberBook;
  sender: DeliverySender;
  /** When the service calculates the receipt of an order that has just taken this status, from now on, in milliseconds; none: it has none. */
  receiptTimes(status: string): readonly number[];
  speed: number;
  /** 0 to 1. */
  random: () => number;
  /** Settings at the start, over the defaults. */
  change: DeliveryChange;
}

export type Deliveries = ReturnType<typeof createDeliveries>;

/** The part of the service that sends deliveries to subscribers: changes of business orders and of their receipts. */
export function createDeliveries(ports: DeliveryPorts) {
  const { orders, subscribers, sender, receiptTimes, productOf, speed, random, change } = ports;
  const atFirst: DeliverySettings = { ...defaultDeliverySettings, signatureHeader: drawnHeader(random) };
  let current = changed(atFirst, change);
  const settings = (): DeliverySettings => current;
  const ledger = createDeliveryLedger();
  const writer = createDeliveryWriter({ settings, productOf });
  const attempts = createDeliveryAttempts({ settings, ledger, sender, speed, findSubscriber: subscribers.find });
  const reports = new Set<NodeJS.Timeout>();

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

  function reportLater(orderId: string, afterMs: number): void {
    const timer = setTimeout(() => {
      reports.delete(timer);
      if (current.enabled) tell({ eventType: 'business_report', orderId });
    }, afterMs / speed).unref();
    reports.add(timer);
  }

  const announcer = createOrderAnnouncer({
    orders: orders.all,
    isWanted: ({ order }) => current.enabled && order.interface === 'business' && subscribers.count() > 0,
    announce({ order: { orderId } }, status) {
      tell({ eventType: 'status_changed', orderId, status });
      for (const afterMs of receiptTimes(status)) reportLater(orderId, afterMs);
    },
  });

  return {
    ledger,
    settings,
    /** Changes some of the settings, and gives all of them. */
    setSettings(given: DeliveryChange): DeliverySettings {
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
      for (const timer of reports) clearTimeout(timer);
      await attempts.close();
    },
  };
}
