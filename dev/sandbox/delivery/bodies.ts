import { eventTypes } from '../../../src/domain/subscription/subscription.js';
import { numberOrText } from '../order/wire-id.js';

/** The events that one can subscribe to (published 2.1). Faretrail subscribes to the first two. */
export const subscribedEvents = [...eventTypes, 'employee_updated'] as const;
/** All events that a delivery can be about. */
export const deliveryEvents = [...subscribedEvents, 'test.event.updated'] as const;
export type DeliveryEvent = (typeof deliveryEvents)[number];

/** The content of a delivery. Two deliveries never have the same number, id or time. */
export interface DeliveryFacts {
  number: number;
  id: string;
  /** RFC 3339 with nine fractional digits. */
  timestamp: string;
  event: DeliveryEvent;
  /** Undefined: the delivery names no order. */
  orderId: string | undefined;
  productId: string;
  /** The new status of the order or of the employee. */
  status: string | undefined;
  employeeId: string;
  hookAddress: string;
}

/** The body of a delivery as the service publishes it. JSON leaves out fields without a value. */
export function deliveryBody(facts: DeliveryFacts): object {
  const { id, number, event, timestamp } = facts;
  if (event === 'test.event.updated') {
    const { hookAddress: hook_address } = facts;
    return { id, event_type: event, hook_address, message: 'Test me', timestamp: timestamp.replace('Z', '+00:00') };
  }
  const env = environments[number % environments.length];
  return { id, event_type: event, env, message: JSON.stringify(messageBody(event, facts)), timestamp };
}

/** `env` may be empty or absent. */
const environments = [undefined, '', 'sandbox', 'prod'];

/** The object in the text `message`. An order id of digits comes as a number or as text; the order of the fields varies, too. */
function messageBody(event: Exclude<DeliveryEvent, 'test.event.updated'>, facts: DeliveryFacts): object {
  const { number, orderId, productId: product_id, status, employeeId } = facts;
  switch (event) {
    case 'status_changed':
      return number % 2 === 0
        ? { order_id: orderId && numberOrText(orderId), product_id, status }
        : { product_id, order_id: orderId, status };
    case 'business_report':
      return { order_id: orderId, status: 'update' };
    case 'employee_updated':
      return { employee_uuid: employeeId, status };
  }
}
