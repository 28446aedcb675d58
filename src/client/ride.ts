import type { Client, UpdateDefinition } from '@temporalio/client';
import type { z } from 'zod';
import {
  type RequestRideInputShape,
  RideResolutionShape,
  RideResultShape,
  RideStandingShape,
  UpdateRideShape,
} from '../contracts/ride-shapes.js';
import { type RequestRideKey, requestRideId } from '../domain/workflow-ids.js';
import { runOf } from '../temporal/runs.js';
import { cancelRideUpdate, resolveRideUpdate, rideStatusQuery, updateRideUpdate } from '../workflows/messages.js';
import type { requestRide } from '../workflows/ride/request-ride.js';
import { type AskOptions, inTime, toAnswer, toInput } from './run.js';

/** What requesting a ride is started with. */
export type RideInput = z.input<typeof RequestRideInputShape>;

/** What a person found out about a ride whose create may or may not have made an order. */
export type RideResolution = z.input<typeof RideResolutionShape>;

/** Where a ride stands. */
export type RideStanding = z.output<typeof RideStandingShape>;

/** How a ride ended. */
export type RideResult = z.output<typeof RideResultShape>;

/** One requested ride. What the service refuses is a `FaretrailClientError` with its code, and changes nothing. */
export interface RideHandle {
  readonly account: string;
  readonly requestId: string;
  readonly workflowId: string;
  /** Needs a live worker; of an ended ride, too. */
  status(options?: AskOptions): Promise<RideStanding>;
  /** Changes the order: any part of the body of create order. */
  change(order: Record<string, unknown>, options?: AskOptions): Promise<RideStanding>;
  /** Cancels the order; before anything was sent, none is made. */
  cancel(options?: AskOptions): Promise<RideStanding>;
  /** Decides a ride whose attention is `outcomeUnknown`. */
  resolve(resolution: RideResolution, options?: AskOptions): Promise<RideStanding>;
  /** Waits for the end of the ride, and for its receipt where one was wanted. */
  result(): Promise<RideResult>;
}

/** A change waits for the service, which may be slow or busy; the run itself gives up after a quarter of an hour. */
const changeWithinMs = 120_000;

/** A handle of the ride, whether it was requested or not. */
export function rideHandle(client: Client, key: RequestRideKey): RideHandle {
  const workflowId = requestRideId(key);
  const run = runOf<typeof requestRide>(client, workflowId);
  const update = <Args extends unknown[]>(
    definition: UpdateDefinition<unknown, Args>,
    args: Args,
    options?: AskOptions,
  ): Promise<RideStanding> =>
    toAnswer(RideStandingShape, run.update(definition, args, inTime({ withinMs: changeWithinMs, ...options })));
  return {
    ...key,
    workflowId,
    status: (options) => toAnswer(RideStandingShape, run.query(rideStatusQuery, inTime(options))),
    change: async (order, options) => await update(updateRideUpdate, [toInput(UpdateRideShape, { order })], options),
    cancel: (options) => update(cancelRideUpdate, [], options),
    async resolve(given, options) {
      const found = toInput(RideResolutionShape, given);
      const resolution = 'orderId' in found ? { orderId: String(found.orderId) } : found;
      return await update(resolveRideUpdate, [resolution], options);
    },
    result: () => toAnswer(RideResultShape, run.result()),
  };
}
