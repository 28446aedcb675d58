import { randomUUID } from 'node:crypto';
import type { ActivityExecutionInfo, Client } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { OrderActivities } from '../activities/order.js';
import type { ReceiptActivities } from '../activities/receipt.js';
import type { OrderObservation, OrderTrail, ReadOrderInput } from '../domain/order/trail.js';
import type { ReceiptObservation } from '../domain/report.js';
import { quote, searchAttributeNames } from '../domain/search-attribute-names.js';
import { accountQueueOf } from '../domain/task-queues.js';
import { type FollowOrderKey, fromSingleReadId, singleReadId } from '../domain/workflow-ids.js';
import { isNotOffered, resultOfActivity } from './calls.js';
import { FaretrailClientError, toClientError } from './run-errors.js';

// An order whose run has ended is read by the activity of such runs, started by itself: in the form that the workers' contract profile
// says, on the queue of the account and so within its request budget. It works at both interfaces, unlike a business call.

const accountKey = defineSearchAttributeKey(searchAttributeNames.account, 'KEYWORD');

/** Behind all that runs want; a receipt goes last, as there. */
const priorityKey = 5;

const startOf = (key: FollowOrderKey, taskQueue: string, summary: string) => ({
  id: singleReadId({ ...key, readId: randomUUID() }),
  taskQueue: accountQueueOf(taskQueue, key.account),
  startToCloseTimeout: 30_000, // as for a look of a run
  scheduleToCloseTimeout: 120_000, // trouble that lasts longer is an answer, too
  priority: { priorityKey },
  typedSearchAttributes: [{ key: accountKey, value: key.account }],
  summary,
});

/** Reads an order whose run has ended. `last`: what that run knew. Throws `FaretrailClientError`, `NotOffered` where the server starts no
 *  activities by themselves. */
export async function readEndedOrder(
  client: Client,
  taskQueue: string,
  key: FollowOrderKey,
  last: Pick<OrderTrail, 'rawStatus' | 'since'>,
): Promise<OrderObservation> {
  const { rawStatus, since } = last;
  const look: ReadOrderInput = {
    ...{ account: key.account, orderId: key.orderId, rawStatus, since, followedSince: since, scheduledAt: null },
    ...{ attention: 'orderNotFound', forPerson: true }, // so that a 404 is an answer at once
    ...{ notBefore: null, struggle: null, vouching: 'rideOrRead' },
  };
  const start = startOf(key, taskQueue, `Order ${key.orderId}, whose run has ended`);
  const begin = () => client.activity.typed<OrderActivities>().start('readOrder', { ...start, args: [look] });
  return (await resultOf(client, start.id, begin)) as OrderObservation;
}

/** Reads the receipt of an order. Throws as `readEndedOrder`. */
export async function readReceiptOf(
  client: Client,
  taskQueue: string,
  { account, orderId }: FollowOrderKey,
): Promise<ReceiptObservation> {
  const look = { account, orderId, shown: 'notReady' as const, notBefore: null }; // so that a 404 is an answer at once
  const start = startOf({ account, orderId }, taskQueue, `Receipt of order ${orderId}`);
  const begin = () => client.activity.typed<ReceiptActivities>().start('readReceipt', { ...start, args: [look] });
  return (await resultOf(client, start.id, begin)) as ReceiptObservation;
}

async function resultOf(client: Client, id: string, begin: () => Promise<unknown>): Promise<unknown> {
  try {
    await begin();
    return await resultOfActivity(client, id);
  } catch (error) {
    if (!isNotOffered(error)) throw toClientError(error, id);
    const message = 'this Temporal server starts no activities by themselves, so what has ended cannot be read';
    throw new FaretrailClientError('NotOffered', message, { cause: error });
  }
}

/** The reads of an order that Temporal knows, about a second late. */
export async function* listSingleReads(client: Client, key: FollowOrderKey): AsyncGenerator<ActivityExecutionInfo> {
  const ofAccount = `${searchAttributeNames.account} = ${quote(key.account)}`;
  try {
    for await (const info of client.activity.list(`ActivityType IN ('readOrder', 'readReceipt') AND ${ofAccount}`))
      if (fromSingleReadId(info.activityId)?.orderId === key.orderId) yield info;
  } catch (error) {
    if (!isNotOffered(error)) throw error;
  }
}
