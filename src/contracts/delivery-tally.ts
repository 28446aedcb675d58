import { z } from 'zod';
import { isOrderId } from '../domain/keys.js';

/** The most order ids that a line names. */
export const maxOrders = 10;
/** How long a line is kept. */
export const keptForMs = 7 * 24 * 3_600_000;

const Text = z.string().max(100);
const Instant = z.iso.datetime();

/** Deliveries of one account and event type that ended in the same way within a minute, or within a longer time where they came for long. */
const TallyLineSchema = z.strictObject({
  /** Empty: not at one of our addresses. */
  account: Text,
  eventType: Text,
  /** As in the metric `faretrail_deliveries_total`; `late` as in `faretrail_forwarded_total`. */
  outcome: Text,
  from: Instant,
  to: Instant,
  count: z.int().min(1),
  /** Of late deliveries the last orders. Never of refused ones, whose body proves nothing. */
  orders: z.array(z.string().refine((id): boolean => isOrderId(id))).max(maxOrders),
});

/** The document in which an ingress keeps what it refused, and what came late. */
export const DeliveryTallySchema = z.strictObject({ version: z.literal(1), lines: z.array(TallyLineSchema) });

/** See `TallyLineSchema`. */
export type TallyLine = z.infer<typeof TallyLineSchema>;
