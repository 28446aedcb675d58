import { z } from 'zod';
import { rideInterfaces } from '../src/domain/account.js';
import { eventTypes } from '../src/domain/subscription/subscription.js';
import { deliveryShapes } from './delivery-bodies.js';
import { deliveryFlaws } from './delivery-flaws.js';
import { SecretPlaceSchema } from './delivery-secrets.js';

const maxAtOnce = 1_000_000;

/** Deliveries to send now: `count` different ones for each order and status, each `copies` times. */
export const DeliveryRequestSchema = z
  .strictObject({
    eventType: z.enum(eventTypes).default('status_changed'),
    /** Default: everyone who is subscribed to the event type. */
    subscriberId: z.string().optional(),
    /** Where the status of an order is looked up that names none. */
    interface: z.enum(rideInterfaces).default('business'),
    /** Empty: the deliveries name no order. */
    orderIds: z.array(z.string().min(1)).default([]),
    /** Default: the status that the order has now, and `Routing` for one that the sandbox does not have. */
    statuses: z.array(z.string()).min(1).optional(),
    count: z.int().min(1).max(maxAtOnce).default(1),
    copies: z.int().min(1).max(maxAtOnce).default(1),
    arrangement: z.enum(['asGiven', 'reversed', 'shuffled']).default('asGiven'),
    /** Attempts at a time; 1 keeps them in order. */
    concurrency: z.int().min(1).max(4096).default(1),
    /** Before the first is sent; not divided by the speed. */
    delayMs: z.int().min(0).max(3_600_000).default(0),
    /** Whether further attempts follow by the schedule. */
    isRetried: z.boolean().default(false),
    /** Default: that of the subscriber or of the settings. */
    shape: z.enum(deliveryShapes).optional(),
    secret: SecretPlaceSchema.optional(),
    flaw: z.enum(deliveryFlaws).optional(),
    /** Of an oversized body, in all. */
    bytes: z.int().min(1).max(67_108_864).optional(),
  })
  .refine(
    ({ count, copies, orderIds, statuses }) =>
      count * copies * (orderIds.length || 1) * (statuses?.length ?? 1) <= maxAtOnce,
    { path: ['count'], message: `at most ${maxAtOnce} deliveries at once` },
  );
export type DeliveryRequest = z.output<typeof DeliveryRequestSchema>;
export type DeliveryRequestInput = z.input<typeof DeliveryRequestSchema>;

/** What became of the first attempts of a request. */
export interface DeliveryReport {
  sent: number;
  /** Answered with a 2xx. */
  delivered: number;
  /** By HTTP status; `none` for those without an answer. */
  byAnswer: Record<string, number>;
  ms: number;
}
