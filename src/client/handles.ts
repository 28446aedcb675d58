import type { Client, UpdateDefinition } from '@temporalio/client';
import { InvalidInput } from '../domain/errors.js';
import type { NotifySchema } from '../domain/notify/receivers.js';
import { type FollowOrderInputSchema, parseFollowRequest, parseStopInput } from '../domain/order/input.js';
import { OrderTrailSchema } from '../domain/order/trail.js';
import { ParkedDeliverySchema, parseDiscardInput, parseRouteInput, RoutedDeliverySchema } from '../domain/parked.js';
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
export interface OrderHandle {
  readonly account: string;
  readonly orderId: string;
  readonly workflowId: string;
  /** The trail now, also after the end. Needs a live worker. */
  trail(options?: AskOptions): Promise<OrderTrail>;
  /** Reads the order now, and gives the trail after that read. */
  refresh(options?: AskOptions): Promise<OrderTrail>;
  /** Ends the following with the outcome `stopped`; the order itself goes on. */
  stop(reason: string, options?: AskOptions): Promise<OrderTrail>;
  /** Adds up to ten receivers of notices: each receives the status now, then every change. A receiver that the run already has is not
   *  added twice. Needs no live worker. */
  notify(receivers: readonly Receiver[], options?: AskOptions): Promise<void>;
  /** Waits for the end. */
  result(): Promise<OrderTrail>;
}

/** A handle of the order, whether it is followed or not. */
export function orderHandle(client: Client, key: FollowOrderKey): OrderHandle {
  const workflowId = followOrderId(key);
  const run = runOf<typeof followOrder>(client, workflowId);
  return {
    ...key,
    workflowId,
    trail: (options) => toAnswer(OrderTrailSchema, run.query(orderTrailQuery, inTime(options))),
    refresh: (options) => toAnswer(OrderTrailSchema, run.update(refreshOrderUpdate, [], inTime(options))),
    async stop(reason, options) {
      const why = parseStopInput({ reason });
      return await toAnswer(OrderTrailSchema, run.update(stopFollowingUpdate, [why], inTime(options)));
    },
    async notify(given, options) {
      if (given.length === 0) throw new InvalidInput('notify: must name a receiver');
      const request = parseFollowRequest({ notify: given });
      const isSent = await run.signal(followRequestedSignal, request, inTime(options));
      if (!isSent) throw await run.closed(inTime(options));
    },
    result: () => toAnswer(OrderTrailSchema, run.result()),
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

/** The input of `followReports`. */
export type ReportInput = Sent<typeof CompanyReportInputSchema> & { orderId: string | number };

/** The reports about one order, and its receipt. */
export type CompanyReport = Sent<typeof CompanyReportSchema>;

/** The reports about one order. */
export interface ReportHandle {
  readonly account: string;
  readonly orderId: string;
  readonly workflowId: string;
  /** The reports now, also after the end. Needs a live worker. */
  report(options?: AskOptions): Promise<CompanyReport>;
  /** Waits until seven days have passed without a report. */
  result(): Promise<CompanyReport>;
}

/** A handle of the reports about an order, whether there were any or not. */
export function reportHandle(client: Client, key: CompanyReportKey): ReportHandle {
  const workflowId = companyReportId(key);
  const run = runOf<typeof companyReport>(client, workflowId);
  return {
    account: key.account,
    orderId: key.about,
    workflowId,
    report: (options) => toAnswer(CompanyReportSchema, run.query(reportStatusQuery, inTime(options))),
    result: () => toAnswer(CompanyReportSchema, run.result()),
  };
}

/** The state of a parked delivery, without its content. */
export type ParkedDelivery = Sent<typeof ParkedDeliverySchema>;

/** The same with the result at its order. */
export type RoutedDelivery = Sent<typeof RoutedDeliverySchema>;

/** One parked delivery. The run carries out one decision; a different one is `AlreadyDecided` or `AlreadyEnded`. */
export interface ParkedHandle {
  readonly account: string;
  readonly deliveryId: string;
  readonly workflowId: string;
  /** The state now, also after a decision. Needs a live worker. */
  state(options?: AskOptions): Promise<ParkedDelivery>;
  /** Gives it to an order. `NotRouted`: that failed, and the delivery stays parked. */
  route(orderId: string | number, options?: AskOptions): Promise<RoutedDelivery>;
  discard(reason: string, options?: AskOptions): Promise<ParkedDelivery>;
}

/** A handle of the delivery, whether it is parked or not. */
export function parkedHandle(client: Client, key: ParkedDeliveryKey): ParkedHandle {
  const workflowId = parkedDeliveryId(key);
  const run = runOf<typeof parkedDelivery>(client, workflowId);
  return {
    ...key,
    workflowId,
    state: (options) => toAnswer(ParkedDeliverySchema, run.query(parkedStatusQuery, inTime(options))),
    async route(given, options) {
      const to = parseRouteInput({ orderId: given });
      return await toAnswer(RoutedDeliverySchema, run.update(routeDeliveryUpdate, [to], inTime(options)));
    },
    async discard(reason, options) {
      const why = parseDiscardInput({ reason });
      return await toAnswer(ParkedDeliverySchema, run.update(discardDeliveryUpdate, [why], inTime(options)));
    },
  };
}
