import { z } from 'zod';
import { seededRandom } from '../faults.js';
import { deliveryShapes } from './bodies.js';
import { type SecretPlace, SecretPlaceSchema } from './secrets.js';

const Probability = z.number().min(0).max(1);
const Ms = z.int().min(0).max(86_400_000);

export const codings = ['none', 'gzip', 'deflate', 'br'] as const;
/** How the service tries an address before it takes a subscriber: not at all, by GET or HEAD, or with a challenge that it wants back. */
export const looks = ['none', 'get', 'head', 'query', 'body'] as const;

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
  /** Where a body holds its events, the former status of the order and the new one: a pointer to the list, "" for the body itself. Null: one
   *  event is the body. */
  eventsAt: z
    .string()
    .regex(/^(\/\w+)*$/, 'must be a JSON pointer, or empty')
    .nullable(),
  coding: z.enum(codings),
  /** Does it put a slash behind addresses? */
  slash: z.boolean(),
  look: z.enum(looks),
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
  ...{ eventsAt: null, coding: 'none', slash: false, look: 'none' },
  bySubscriber: {},
};

const secrets: SecretPlace[] = [
  { mode: 'none' },
  { mode: 'header', name: 'X-Hook-Token' },
  { mode: 'body', pointer: '/auth/key' },
  {
    mode: 'hmac',
    header: 'X-Hook-Signature',
    algorithm: 'sha256',
    encoding: 'hex',
    prefix: 'sha256=',
    over: 'received',
  },
  { mode: 'hmac', header: 'X-Hook-Signature', algorithm: 'sha256', encoding: 'base64', prefix: '', over: 'unpacked' },
];

/** Deliveries in a form that the seed draws, for whoever wants to find it out. */
export function drawnForm(seed: number): DeliveryChange {
  const random = seededRandom(seed);
  const one = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  return {
    shape: one(deliveryShapes.filter((shape) => shape !== 'test')),
    eventsAt: one([null, '', '/events', '/data/items']),
    coding: one(codings),
    slash: one([true, false]),
    look: one(looks),
    secret: one(secrets),
  };
}
