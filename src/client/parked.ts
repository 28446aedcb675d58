import type { Client } from '@temporalio/client';
import { ParkedDeliverySchema, parseDiscardInput, parseRouteInput, RoutedDeliverySchema } from '../domain/parked.js';
import type { Sent } from '../domain/schema.js';
import { type ParkedDeliveryKey, parkedDeliveryId } from '../domain/workflow-ids.js';
import { runOf } from '../temporal/runs.js';
import { discardDeliveryUpdate, parkedStatusQuery, routeDeliveryUpdate } from '../workflows/messages.js';
import type { parkedDelivery } from '../workflows/parked-delivery.js';
import { type AskOptions, inTime, toAnswer } from './run.js';

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
