import type { Client } from '@temporalio/client';
import { InvalidInput } from '../domain/errors.js';
import type { NotifySchema } from '../domain/notify/receivers.js';
import { type FollowOrderInputSchema, parseFollowRequest, parseStopInput } from '../domain/order/input.js';
import { OrderTrailSchema } from '../domain/order/trail.js';
import type { Sent } from '../domain/schema.js';
import { type FollowOrderKey, followOrderId } from '../domain/workflow-ids.js';
import { runOf } from '../temporal/runs.js';
import {
  followRequestedSignal,
  orderTrailQuery,
  refreshOrderUpdate,
  stopFollowingUpdate,
} from '../workflows/messages.js';
import type { followOrder } from '../workflows/order/follow-order.js';
import { type AskOptions, inTime, toAnswer } from './run.js';

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
