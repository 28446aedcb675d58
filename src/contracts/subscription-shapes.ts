import { z } from 'zod';
import { eventTypes } from '../domain/subscription/subscription.js';
import { AccountNameShape } from './order-shapes.js';

const month = 30 * 86_400_000;

/** What `subscription` is started with. */
export const SubscriptionInputShape = z.strictObject({
  account: AccountNameShape.describe('Name of a business account that the workers hold.'),
  eventType: z.enum(eventTypes),
  publicUrl: z.url().max(500).describe('Public base of the ingress: https, or http at a loopback address.'),
  resubscribe: z.boolean().nullish().describe('Subscribe anew, at most once a day, while deliveries are silent?'),
  graceMs: z.int().min(0).max(month).nullish().describe('How long a replaced address is accepted; a day by default.'),
  silence: z
    .strictObject({
      everyMs: z.int().min(100).max(86_400_000).nullish(),
      minOrders: z.int().min(1).max(100_000).nullish(),
    })
    .nullish()
    .describe('When deliveries count as silent.'),
});
