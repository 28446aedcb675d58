import { z } from 'zod';
import { OrderIdShape } from './order-shapes.js';

/** How a delivery stands that nobody could place: the answer of the query `parkedStatus`, and the result of the run. */
export const ParkedDeliveryShape = z.object({
  account: z.string(),
  eventType: z.string(),
  deliveryId: z.string().describe('32 hex digits.'),
  receivedAt: z.string(),
  reason: z.string().describe('Why nobody could place it.'),
  aboutOrderId: z
    .string()
    .optional()
    .describe('The order that it names, where following ended in a way that a person decides about.'),
  outcome: z.enum(['waiting', 'routed', 'discarded']),
  orderId: z.string().nullable().describe('The order that it was routed to.'),
  discardReason: z.string().nullable(),
});

/** Answer of the update `routeDelivery`. */
export const RoutedDeliveryShape = z.object({
  ...ParkedDeliveryShape.shape,
  handedOver: z.string().describe('What became of it: signalled, started, late or reported.'),
});

/** Argument of the update `routeDelivery`. */
export const RouteDeliveryShape = z.strictObject({ orderId: OrderIdShape });
