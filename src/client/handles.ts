import type { Client, UpdateDefinition } from '@temporalio/client';
import { InvalidInput } from '../domain/errors.js';
import type { NotifySchema } from '../domain/notify/receivers.js';
import { type FollowOrderInputSchema, parseFollowRequest, parseReasonInput } from '../domain/order/input.js';
import { OrderTrailSchema } from '../domain/order/trail.js';
import { ParkedDeliverySchema, parseRouteInput, RoutedDeliverySchema } from '../domain/parked.js';
import { type CompanyReportInputSchema, CompanyReportSchema } from '../domain/report.js';
import {
  parseResolveRideInput,
  parseUpdateRideInput,
  type RequestRideInputSchema,
  type RideResolutionSchema,
} from '../domain/ride/input.js';
import { RideResultSchema, RideStandingSchema } from '../domain/ride/ride.js';
import type { Schema, Sent } from '../domain/schema.js';
import {
  type CompanyReportKey,
  companyReportId,
  type FollowOrderKey,
  followOrderId,
  type ParkedDeliveryKey,
  parkedDeliveryId,
  type RequestRideKey,
  requestRideId,
} from '../domain/workflow-ids.js';
import { FaretrailClientError } from '../temporal/run-errors.js';
import { runOf } from '../temporal/runs.js';
import {
  cancelRideUpdate,
  discardDeliveryUpdate,
  followRequestedSignal,
  orderTrailQuery,
  parkedStatusQuery,
  refreshOrderUpdate,
  reportStatusQuery,
  resolveRideUpdate,
  rideStatusQuery,
  routeDeliveryUpdate,
  stopFollowingUpdate,
  updateRideUpdate,
} from '../workflows/messages.js';
import type { followOrder } from '../workflows/order/follow-order.js';
import type { parkedDelivery } from '../workflows/parked-delivery.js';
import type { companyReport } from '../workflows/report/company-report.js';
import type { requestRide } from '../workflows/ride/request-ride.js';

/** Options of a call that waits for an answer. */
export interface AskOptions {
  /** After so many milliseconds the call throws `NoAnswer`. Default 30,000. */
  withinMs?: number;
}

const defaultWithinMs = 30_000;

/** Every call of the typed client that waits for an answer has a deadline. */
export const inTime = ({ withinMs = defaultWithinMs }: AskOptions = {}): Required<AskOptions> => ({ withinMs });

/** Reads the answer of a run, without fields that a later release adds. Throws `FaretrailClientError`. */
export async function toAnswer<Answer>(schema: Schema<Answer, unknown>, answer: Promise<unknown>): Promise<Answer> {
  const given = await answer;
  try {
    return schema.read(given, '');
  } catch (cause) {
    const message = `the answer of the run cannot be read: ${cause instanceof InvalidInput ? cause.message : cause}`;
    throw new FaretrailClientError('AnswerUnreadable', message, { cause });
  }
}

/** The input of `follow`. */
export type FollowOrderInput = Sent<typeof FollowOrderInputSchema>;

/** The durable record of a followed order. */
export type OrderTrail = Sent<typeof OrderTrailSchema>;

/** A receiver of notices: a workflow, by signal, or a URL. */
export type Receiver = Sent<typeof NotifySchema>;

/** One followed order. Calls throw `FaretrailClientError` for what the run cannot do, and for an answer that they cannot read. */
export type OrderHandle = ReturnType<typeof orderHandle>;

/** A handle of the order, whether it is followed or not. */
export function orderHandle(client: Client, key: FollowOrderKey) {
  const { account, orderId }: Record<keyof FollowOrderKey, string> = key;
  const workflowId = followOrderId(key);
  const run = runOf<typeof followOrder>(client, workflowId);
  const toTrail = (answer: Promise<unknown>): Promise<OrderTrail> => toAnswer(OrderTrailSchema, answer);
  return {
    account,
    orderId,
    workflowId,
    /** The trail now, also after the end. Needs a live worker. */
    trail: (options?: AskOptions) => toTrail(run.query(orderTrailQuery, inTime(options))),
    /** Reads the order now, and gives the trail after that read. */
    refresh: (options?: AskOptions) => toTrail(run.update(refreshOrderUpdate, [], inTime(options))),
    /** Ends the following with the outcome `stopped`; the order itself goes on. */
    stop: async (reason: string, options?: AskOptions) =>
      await toTrail(run.update(stopFollowingUpdate, [parseReasonInput({ reason })], inTime(options))),
    /** Adds up to ten receivers of notices: each receives the status now, then every change. A receiver that the run already has is not
     *  added twice. Needs no live worker. */
    async notify(receivers: readonly Receiver[], options?: AskOptions): Promise<void> {
      if (receivers.length === 0) throw new InvalidInput('notify: must name a receiver');
      const request = parseFollowRequest({ notify: receivers });
      const isSent = await run.signal(followRequestedSignal, request, inTime(options));
      if (!isSent) throw await run.closed(inTime(options));
    },
    /** Waits for the end. */
    result: () => toTrail(run.result()),
  };
}

/** The input of `request`. */
export type RideInput = Sent<typeof RequestRideInputSchema>;

/** What a person decides about a ride whose create had an unknown outcome. */
export type RideResolution = Sent<typeof RideResolutionSchema>;

/** The state of a ride. */
export type RideStanding = Sent<typeof RideStandingSchema>;

/** How a ride ended. */
export type RideResult = Sent<typeof RideResultSchema>;

/** A change waits for the service, which may be slow or busy; the run itself gives up after a quarter of an hour. */
const changeWithinMs = 120_000;

/** One requested ride. When the service refuses a change, the call throws `FaretrailClientError` with its code, and nothing changes. */
export type RideHandle = ReturnType<typeof rideHandle>;

/** A handle of the ride, whether it was requested or not. */
export function rideHandle(client: Client, key: RequestRideKey) {
  const { account, requestId }: Record<keyof RequestRideKey, string> = key;
  const workflowId = requestRideId(key);
  const run = runOf<typeof requestRide>(client, workflowId);
  const toStanding = (answer: Promise<unknown>): Promise<RideStanding> => toAnswer(RideStandingSchema, answer);
  const update = <Args extends unknown[]>(
    definition: UpdateDefinition<unknown, Args>,
    args: Args,
    options?: AskOptions,
  ): Promise<RideStanding> =>
    toStanding(run.update(definition, args, inTime({ withinMs: changeWithinMs, ...options })));
  return {
    account,
    requestId,
    workflowId,
    /** The state now, also after the end. Needs a live worker. */
    status: (options?: AskOptions) => toStanding(run.query(rideStatusQuery, inTime(options))),
    /** Changes the order: any part of the body of create order. */
    change: async (order: Record<string, unknown>, options?: AskOptions) =>
      await update(updateRideUpdate, [parseUpdateRideInput({ order })], options),
    /** Cancels the order. Before the create was sent, the run makes no order. */
    cancel: (options?: AskOptions) => update(cancelRideUpdate, [], options),
    /** Decides a ride whose attention is `outcomeUnknown`. */
    resolve: async (resolution: RideResolution, options?: AskOptions) =>
      await update(resolveRideUpdate, [parseResolveRideInput(resolution)], options),
    /** Waits for the end of the ride, and for its receipt where the input wants one. */
    result: (): Promise<RideResult> => toAnswer(RideResultSchema, run.result()),
  };
}

/** The input of `followReports`. */
export type ReportInput = Sent<typeof CompanyReportInputSchema> & { orderId: string | number };

/** The reports about one order, and its receipt. */
export type CompanyReport = Sent<typeof CompanyReportSchema>;

/** The reports about one order. */
export type ReportHandle = ReturnType<typeof reportHandle>;

/** A handle of the reports about an order, whether there were any or not. */
export function reportHandle(client: Client, key: CompanyReportKey) {
  const { account, about: orderId }: Record<keyof CompanyReportKey, string> = key;
  const workflowId = companyReportId(key);
  const run = runOf<typeof companyReport>(client, workflowId);
  const toReport = (answer: Promise<unknown>): Promise<CompanyReport> => toAnswer(CompanyReportSchema, answer);
  return {
    account,
    orderId,
    workflowId,
    /** The reports now, also after the end. Needs a live worker. */
    report: (options?: AskOptions) => toReport(run.query(reportStatusQuery, inTime(options))),
    /** Waits until seven days have passed without a report. */
    result: () => toReport(run.result()),
  };
}

/** The state of a parked delivery, without its content. */
export type ParkedDelivery = Sent<typeof ParkedDeliverySchema>;

/** The same with the result at its order. */
export type RoutedDelivery = Sent<typeof RoutedDeliverySchema>;

/** One parked delivery. The run carries out one decision; a different one is `AlreadyDecided` or `AlreadyEnded`. */
export type ParkedHandle = ReturnType<typeof parkedHandle>;

/** A handle of the delivery, whether it is parked or not. */
export function parkedHandle(client: Client, key: ParkedDeliveryKey) {
  const { account, deliveryId }: Record<keyof ParkedDeliveryKey, string> = key;
  const workflowId = parkedDeliveryId(key);
  const run = runOf<typeof parkedDelivery>(client, workflowId);
  return {
    account,
    deliveryId,
    workflowId,
    /** The state now, also after a decision. Needs a live worker. */
    state: (options?: AskOptions): Promise<ParkedDelivery> =>
      toAnswer(ParkedDeliverySchema, run.query(parkedStatusQuery, inTime(options))),
    /** Gives it to an order. `NotRouted`: that failed, and the delivery stays parked. */
    async route(orderId: string | number, options?: AskOptions): Promise<RoutedDelivery> {
      const to = parseRouteInput({ orderId });
      return await toAnswer(RoutedDeliverySchema, run.update(routeDeliveryUpdate, [to], inTime(options)));
    },
    async discard(reason: string, options?: AskOptions): Promise<ParkedDelivery> {
      const why = parseReasonInput({ reason });
      return await toAnswer(ParkedDeliverySchema, run.update(discardDeliveryUpdate, [why], inTime(options)));
    },
  };
}
