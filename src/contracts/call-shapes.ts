import { z } from 'zod';
import { businessOperations } from '../domain/call.js';
import { AccountNameShape, NameShape, OrderIdShape } from './order-shapes.js';

/** A caller's own identity of a call or a ride: it becomes a part of the workflow id. */
export const CallerKeyShape = z.string().regex(/^[A-Za-z0-9._~-]{1,100}$/);

/** What `businessCall` is started with. */
export const BusinessCallInputShape = z.strictObject({
  account: AccountNameShape.describe('Name of a business account that the workers hold.'),
  operation: z.enum(businessOperations),
  key: CallerKeyShape.describe('Your identity of this call: the same key never makes a second effect.'),
  orderId: OrderIdShape.nullish().describe('For the operations about one order.'),
  referenceFieldId: z.union([NameShape, z.int()]).nullish().describe('For addReferenceCode.'),
  body: z.unknown().optional().describe('Sent to the service; fields nobody here knows are sent as they are.'),
});

/** What `businessCall` answers. */
export const BusinessCallResultShape = z.object({
  operation: z.enum(businessOperations),
  status: z.int().describe('The status of HTTP.'),
  body: z.unknown().describe('The parsed answer; null when there was none.'),
  orderId: z.string().optional().describe('Of createOrder only.'),
});
