import type { Subscriber } from '../subscription/subscribers.js';
import type { Delivery } from './attempts.js';
import type { DeliveryFacts } from './bodies.js';
import { type MessageForm, toMessage } from './message.js';
import type { DeliverySettings } from './settings.js';

/** The subject of a delivery. */
export interface Tidings extends Pick<DeliveryFacts, 'eventType' | 'orderId' | 'status'> {
  previousStatus?: string | undefined;
}

/** A subject with its own number and time. */
export interface NumberedTidings extends Tidings {
  number: number;
  timestamp: string;
}

interface DeliveryWriterPorts {
  settings(): DeliverySettings;
  businessId: string;
  /** The request id of an order, if deliveries name it. */
}

/** Makes deliveries as the settings say. */
export function createDeliveryWriter({ settings, businessId }: DeliveryWriterPorts) {
  let lastNumber = 0;
  return {
    /** The time contains the number, so no two times are equal. */
    number(tidings: Tidings): NumberedTidings {
      lastNumber += 1;
      const fraction = String(lastNumber % 1_000_000).padStart(6, '0');
      return { ...tidings, number: lastNumber, timestamp: new Date().toISOString().replace('Z', `${fraction}Z`) };
    },
    /** `form`: the wishes of a command. The same arguments give the same bytes. */
    write(
      subscriber: Subscriber,
      { number, timestamp, previousStatus, eventType, orderId, status }: NumberedTidings,
      form?: MessageForm,
    ): Delivery {
      const { id: subscriberId, hookAddress } = subscriber;
      const about = { eventType, orderId, status };
      const cause = form ? 'command' : 'change';
      return {
        facts: { delivery: number, subscriberId, ...about, cause, flaw: form?.flaw },
        message: toMessage(
          subscriber,
          {
            ...{ ...about, previousStatus, businessId, timestamp, hookAddress },
          },
          settings(),
          form,
        ),
      };
    },
  };
}
