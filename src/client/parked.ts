import type { Client } from '@temporalio/client';
import { ParkedDeliverySchema, parseDiscardInput, parseRouteInput, RoutedDeliverySchema } from '../domain/parked.js';
import type { Sent } from '../domain/schema.js';
import { type ParkedDeliveryKey, parkedDeliveryId } from '../domain/workflow-ids.js';
import { runOf } from '../temporal/runs.js';
import { discardDeliveryUpdate, parkedStatusQuery, routeDeliveryUpdate } from '../workflows/messages.js';
import type { parkedDelivery } from '../workflows/parked-delivery.js';
import { type AskOptions, inTime, toAnswer } from './run.js';

/** How a delivery stands that nobody could place; never its content. */
export type ParkedDelivery = Sent<typeof ParkedDeliverySchema>;

/** The same with what became of it at its order. */
export type RoutedDelivery = Sent<typeof RoutedDeliverySchema>;

/** One delivery that nobody could place. One decision is carried out; another one is `AlreadyDecided` or `AlreadyEnded`. */
export interface ParkedHandle {
  readonly account: string;
  readonly deliveryId: string;
  readonly workflowId: string;
  /** Of one that was decided, too. Needs a live worker. */
  state(options?: AskOptions): Promise<ParkedDelivery>;
  /** Gives it to an order. `NotRouted`: that cannot be done now, and it stays. */
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
