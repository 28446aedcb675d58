import { z } from 'zod';
import { deliveryShapes } from './delivery-bodies.js';
import { SecretPlaceSchema } from './delivery-secrets.js';

const Probability = z.number().min(0).max(1);
const Ms = z.int().min(0).max(86_400_000);

/** What can differ from one subscriber to another. */
const Form = z.strictObject({
  shape: z.enum(deliveryShapes),
  /** Where deliveries carry `secret_id`. */
  secret: SecretPlaceSchema,
});

/** How a sandbox sends deliveries. Durations are in real time; those of what it does by itself are divided by its speed. */
export const DeliverySettingsSchema = Form.extend({
  /** Whether changes are announced at all. Deliveries that a command asks for are sent in any case. */
  enabled: z.boolean(),
  /** Whether changes of partner orders are announced too: whether the service does so is unknown. */
  partnerOrders: z.boolean(),
  /** Whether the status that an order begins with counts as a change. */
  firstStatus: z.boolean(),
  /** Whether a `business_report` follows when an order is completed. */
  reportWhenCompleted: z.boolean(),
  /** The wait before each further attempt; empty: one attempt is all. */
  retryDelaysMs: z.array(Ms).max(20),
  /** A 2xx that takes longer counts as none; not divided by the speed. */
  timeoutMs: Ms.min(1),
  /** Attempts at a time, of what is announced. */
  concurrency: z.int().min(1).max(4096),
  /** Chance that an announced delivery is never sent. */
  lost: Probability,
  /** Chance that it is sent twice. */
  duplicated: Probability,
  /** Each is delayed by a random time up to this, so that later ones may overtake it. */
  delayUpToMs: Ms,
  /** By id of the subscriber. */
  bySubscriber: z.record(z.string(), Form.partial()),
});
export type DeliverySettings = z.output<typeof DeliverySettingsSchema>;

/** Some of the settings, to lay over those in force. */
export const DeliveryChangeSchema = DeliverySettingsSchema.partial();
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

/** The settings with a change laid over them. Throws `ZodError`. */
export function changedSettings(settings: DeliverySettings, change: DeliveryChange): DeliverySettings {
  const given = Object.entries(DeliveryChangeSchema.parse(change)).filter(([, value]) => value !== undefined);
  return { ...settings, ...Object.fromEntries(given) };
}
