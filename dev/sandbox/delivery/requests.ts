import { z } from 'zod';
import { rideInterfaces } from '../../../src/domain/account.js';
import { deliveryEvents } from './bodies.js';
import { deliveryFlaws } from './flaws.js';

const maxAtOnce = 1_000_000;

/** Deliveries to send now: `count` different ones for each order and status, each `copies` times. */
export const DeliveryRequestSchema = z
  .strictObject({
    eventType: z.enum(deliveryEvents).default('status_changed'),
    /** Default: all subscribers of the event type; a test delivery goes to all subscribers. */
    subscriberId: z.string().optional(),
    /** Where the sandbox looks up the status of an order. */
    interface: z.enum(rideInterfaces).default('business'),
    /** If empty, the deliveries name no order. */
    orderIds: z.array(z.string().min(1)).default([]),
    /** Default: the present status of the order, or `Routing` if the sandbox does not have the order. `update` or `delete` of an employee. */
    statuses: z.array(z.string()).min(1).optional(),
    count: z.int().min(1).max(maxAtOnce).default(1),
    copies: z.int().min(1).max(maxAtOnce).default(1),
    arrangement: z.enum(['asGiven', 'reversed', 'shuffled']).default('asGiven'),
    /** Attempts at a time; 1 keeps them in order. */
    concurrency: z.int().min(1).max(4096).default(1),
    /** The wait before the first delivery, in real time. */
    delayMs: z.int().min(0).max(3_600_000).default(0),
    /** Do further attempts follow, as many as the subscription or the settings ask for? */
    isRetried: z.boolean().default(false),
    flaw: z.enum(deliveryFlaws).optional(),
    /** The size of an oversized body. */
    bytes: z.int().min(1).max(67_108_864).optional(),
  })
  .refine(
    ({ count, copies, orderIds, statuses }) =>
      count * copies * (orderIds.length || 1) * (statuses?.length ?? 1) <= maxAtOnce,
    { path: ['count'], message: `at most ${maxAtOnce} deliveries at once` },
  );
export type DeliveryRequest = z.output<typeof DeliveryRequestSchema>;
export type DeliveryRequestInput = z.input<typeof DeliveryRequestSchema>;

/** The results of the first attempts of a request. */
export interface DeliveryReport {
  sent: number;
  /** Attempts that got a 2xx. */
  delivered: number;
  /** Attempts by HTTP status; `none`: without an answer. */
  byAnswer: Record<string, number>;
  ms: number;
}
