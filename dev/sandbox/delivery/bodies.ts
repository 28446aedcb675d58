import type { EventType } from '../../../src/domain/subscription/subscription.js';

/** The shapes of a delivery's body (assumed). `test` names no order. */
export const deliveryShapes = ['flat', 'nested', 'data', 'dataOrder', 'value', 'valueOrder', 'test'] as const;
export type DeliveryShape = (typeof deliveryShapes)[number];

/** The content of a delivery. */
export interface DeliveryFacts {
  eventType: EventType;
  orderId: string | undefined;
  status: string | undefined;
  previousStatus: string | undefined;
  businessId: string;
  /** RFC 3339. Only `flat` and `test` hold it. In other shapes two deliveries of one status have the same bytes. */
  timestamp: string;
  hookAddress: string;
}

/** The body in one shape. A report has no status. JSON leaves out fields without a value. */
export function deliveryBody(shape: DeliveryShape, facts: DeliveryFacts): object {
  const { eventType, orderId, businessId, previousStatus, timestamp } = facts;
  const isReport = eventType === 'business_report';
  const status = isReport ? undefined : facts.status;
  const company = isReport ? { business_id: businessId } : {};
  const order = { id: orderId, status };
  switch (shape) {
    case 'flat':
      return {
        event_type: eventType,
        order_id: orderId,
        business_id: businessId,
        status,
        previous_status: isReport ? undefined : previousStatus,
        timestamp,
      };
    case 'nested':
      return { event_type: eventType, ...company, order };
    case 'data':
      return { event_type: eventType, data: { order_id: orderId, status, ...company } };
    case 'dataOrder':
      return { data: { ...company, order } };
    case 'value':
      return { event_type: eventType, value: { order_id: orderId, status, ...company } };
    case 'valueOrder':
      return { value: { ...company, order } };
    case 'test':
      return {
        id: `test-${timestamp}`,
        event_type: `test.${eventType}`,
        hook_address: facts.hookAddress,
        message: 'a test delivery',
        timestamp,
      };
  }
}
