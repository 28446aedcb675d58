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

/** What following an order is started with. */
export type FollowOrderInput = Sent<typeof FollowOrderInputSchema>;

/** The durable record of a followed order. */
export type OrderTrail = Sent<typeof OrderTrailSchema>;

/** Who is told of changes: a workflow by signal, or a URL. */
export type Receiver = Sent<typeof NotifySchema>;

/** One followed order. Every answer is read; what cannot be read or done is a `FaretrailClientError`. */
export interface OrderHandle {
  readonly account: string;
  readonly orderId: string;
  readonly workflowId: string;
  /** The trail as it stands, of an ended run too. Needs a live worker. */
  trail(options?: AskOptions): Promise<OrderTrail>;
  /** Reads the order now, and gives the trail after that read. */
  refresh(options?: AskOptions): Promise<OrderTrail>;
  /** Ends the following with the outcome `stopped`; the order itself goes on. */
  stop(reason: string, options?: AskOptions): Promise<OrderTrail>;
  /** Adds up to ten receivers, each told where the order stands and then of every change; needs no live worker. One that is told already
   *  is not told twice. */
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
      const isTold = await run.signal(followRequestedSignal, request, inTime(options));
      if (!isTold) throw await run.closed(inTime(options));
    },
    result: () => toAnswer(OrderTrailSchema, run.result()),
  };
}
