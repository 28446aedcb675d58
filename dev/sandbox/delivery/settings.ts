import { z } from 'zod';
import { deliveryShapes } from './bodies.js';
import { SecretPlaceSchema } from './secrets.js';

const Probability = z.number().min(0).max(1);
const Ms = z.int().min(0).max(86_400_000);

/** The settings that may differ between subscribers. */
const Form = z.strictObject({
  shape: z.enum(deliveryShapes),
  /** Where deliveries carry `secret_id`. */
  secret: SecretPlaceSchema,
});

/** How a sandbox sends deliveries. It divides durations by its speed, unless they say otherwise. */
export const DeliverySettingsSchema = Form.extend({
  /** Does the sandbox announce changes? It sends the deliveries of commands in any case. */
  enabled: z.boolean(),
  /** Does it announce changes of partner orders, too? It is unknown whether the service does. */
  partnerOrders: z.boolean(),
  /** Does the first status of an order count as a change? */
  firstStatus: z.boolean(),
  /** Does a `business_report` follow a completed order? */
  reportWhenCompleted: z.boolean(),
  /** The wait before each further attempt; empty: one attempt only. */
  retryDelaysMs: z.array(Ms).max(20),
  /** A 2xx that takes longer does not count. In real time. */
  timeoutMs: Ms.min(1),
  /** How many announced deliveries are in flight at most. */
  concurrency: z.int().min(1).max(4096),
  /** The chance that the sandbox never sends an announced delivery. */
  lost: Probability,
  /** The chance that it sends an announced delivery twice. */
  duplicated: Probability,
  /** The longest random delay of an announced delivery. Later deliveries may overtake it. */
  delayUpToMs: Ms,
  /** By id of the subscriber. */
  bySubscriber: z.record(z.string(), Form.partial()),
});
export type DeliverySettings = z.output<typeof DeliverySettingsSchema>;

export const DeliveryChangeSchema = DeliverySettingsSchema.partial();
/** A change of some settings. */
export type DeliveryChange = z.input<typeof DeliveryChangeSchema>;

export const defaultDeliverySettings: DeliverySettings = {
  enabled: true,
  partnerOrders: false,
  firstStatus: false,
  reportWhenCompleted: false,
  shape: 'flat',
  secret: { mode: 'none' },
  retryDelaysMs: [1_000, 5_000, 30_000, 120_000],
  timeoutMs: 5_000,
  concurrency: 64,
  lost: 0,
  duplicated: 0,
  delayUpToMs: 0,
  bySubscriber: {},
};
