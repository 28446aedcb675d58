import type { Client, UpdateDefinition } from '@temporalio/client';
import {
  parseResolveRideInput,
  parseUpdateRideInput,
  type RequestRideInputSchema,
  type RideResolutionSchema,
} from '../domain/ride/input.js';
import { RideResultSchema, RideStandingSchema } from '../domain/ride/ride.js';
import type { Sent } from '../domain/schema.js';
import { type RequestRideKey, requestRideId } from '../domain/workflow-ids.js';
import { runOf } from '../temporal/runs.js';
import { cancelRideUpdate, resolveRideUpdate, rideStatusQuery, updateRideUpdate } from '../workflows/messages.js';
import type { requestRide } from '../workflows/ride/request-ride.js';
import { type AskOptions, inTime, toAnswer } from './run.js';

/** The input of `request`. */
export type RideInput = Sent<typeof RequestRideInputSchema>;

/** What a person decides about a ride whose create had an unknown outcome. */
export type RideResolution = Sent<typeof RideResolutionSchema>;

/** The state of a ride. */
export type RideStanding = Sent<typeof RideStandingSchema>;

/** How a ride ended. */
export type RideResult = Sent<typeof RideResultSchema>;

/** One requested ride. When the service refuses a change, the call throws `FaretrailClientError` with its code, and nothing changes. */
export interface RideHandle {
  readonly account: string;
  readonly requestId: string;
  readonly workflowId: string;
  /** The state now, also after the end. Needs a live worker. */
  status(options?: AskOptions): Promise<RideStanding>;
  /** Changes the order: any part of the body of create order. */
  change(order: Record<string, unknown>, options?: AskOptions): Promise<RideStanding>;
  /** Cancels the order. Before the create was sent, the run makes no order. */
  cancel(options?: AskOptions): Promise<RideStanding>;
  /** Decides a ride whose attention is `outcomeUnknown`. */
  resolve(resolution: RideResolution, options?: AskOptions): Promise<RideStanding>;
  /** Waits for the end of the ride, and for its receipt where the input wants one. */
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
    toAnswer(RideStandingSchema, run.update(definition, args, inTime({ withinMs: changeWithinMs, ...options })));
  return {
    ...key,
    workflowId,
    status: (options) => toAnswer(RideStandingSchema, run.query(rideStatusQuery, inTime(options))),
    change: async (order, options) => await update(updateRideUpdate, [parseUpdateRideInput({ order })], options),
    cancel: (options) => update(cancelRideUpdate, [], options),
    resolve: async (given, options) => await update(resolveRideUpdate, [parseResolveRideInput(given)], options),
    result: () => toAnswer(RideResultSchema, run.result()),
  };
}
