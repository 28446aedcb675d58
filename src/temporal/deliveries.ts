import { type Client, NamespaceNotFoundError } from '@temporalio/client';
import type { Account } from '../domain/account.js';
import type { DeliveryNotice, DeliveryResult } from '../domain/delivery.js';
import { isEndParkReason } from '../domain/delivery.js';
import { FaretrailError } from '../domain/errors.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import { afterEnd } from '../domain/order/earlier-run.js';
import type { ParkedDelivery, ParkedDeliveryInput } from '../domain/parked.js';
import { publishedAddresses } from '../domain/published.js';
import type { CompanyReportInput } from '../domain/report.js';
import {
  type CompanyReportKey,
  type FollowOrderKey,
  followOrderId,
  parkedDeliveryId,
  subscriptionId,
} from '../domain/workflow-ids.js';
import { type DeliveryPort, TemporalUnavailable } from '../webhooks/delivery-port.js';
import { deliveryReceivedSignal } from '../workflows/messages.js';
import type { followOrder } from '../workflows/order/follow-order.js';
import { beginOrder, readLastRun } from './follow-start.js';
import { grpcErrorOf } from './run-errors.js';
import { runOf, unlessEnded } from './runs.js';
import { reportStart, singleRunStart } from './starts.js';

/** What the door to Temporal needs. */
export interface DeliveryPortOptions {
  client: Client;
  /** Of the workflows. */
  taskQueue: string;
  /** What to do about orders of this account that nobody follows. */
  untracked(account: AccountName): Account['untracked'];
}

const deadlineMs = 5_000;
/** Keeps a signal below 200 KiB. */
const deliveriesPerSignal = 1_000;

type SignalArguments = [{ deliveries: DeliveryNotice[] }];
type CompanyReport = (input: CompanyReportInput) => Promise<unknown>;
type Parked = (input: ParkedDeliveryInput) => Promise<ParkedDelivery>;

type Parts = DeliveryPortOptions & { inTime<T>(call: () => Promise<T>): Promise<T> };

/** The ingress's door to Temporal. Rejects with `TemporalUnavailable` when it is shut for all, else for this one alone. */
export function createDeliveryPort(options: DeliveryPortOptions): DeliveryPort {
  const { client } = options;
  const inTime = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await client.withDeadline(Date.now() + deadlineMs, call);
    } catch (error) {
      throw toUnavailable(error);
    }
  };
  const parts = { ...options, inTime };
  return {
    toOrder: createOrderSignals(parts),
    toReport: (key, deliveries) => signalReport(parts, key, deliveries),
    park: (delivery) => park(parts, delivery),
    async readSubscription(key) {
      const about = await inTime(() => runOf(client, subscriptionId(key)).find());
      if (!about) return null;
      const memo = publishedAddresses(about.memo);
      return about.isOpen && memo ? memo : { accepted: [] };
    },
    ping: () => inTime(async () => void (await client.workflowService.getSystemInfo({}))),
  };
}

function createOrderSignals(parts: Parts): DeliveryPort['toOrder'] {
  return async (key, deliveries) => {
    let first: DeliveryResult | undefined;
    for (const some of inParts(deliveries)) {
      const outcome = await parts.inTime(() => sendToOrder(parts, key, some));
      if (first !== undefined && isEndParkReason(outcome)) {
        throw new FaretrailError('OrderContended', 'the following was stopped while deliveries were sent'); // all are sent again
      }
      first ??= outcome;
      if (outcome !== 'signalled' && outcome !== 'started') break; // the same for the rest
    }
    return first ?? 'ignored';
  };
}

async function sendToOrder(parts: Parts, key: FollowOrderKey, deliveries: DeliveryNotice[]): Promise<DeliveryResult> {
  const { client, untracked } = parts;
  if (await runOf(client, followOrderId(key)).signal(deliveryReceivedSignal, { deliveries })) return 'signalled';
  const isWanted = untracked(key.account) === 'follow' || (await readLastRun(client, key)).kind !== 'none';
  return isWanted ? await startWith(parts, key, deliveries) : 'ignored';
}

/** In one step with the start of a run, or with one that was started just now, unless an earlier run ended in a way that forbids it. */
async function startWith(
  { client, taskQueue }: Parts,
  { account, orderId }: FollowOrderKey,
  deliveries: DeliveryNotice[],
): Promise<DeliveryResult> {
  const begun = await beginOrder(client, {
    input: { account, orderId },
    taskQueue,
    start: (options) =>
      client.workflow.signalWithStart<typeof followOrder, SignalArguments>('followOrder', {
        ...options,
        signal: deliveryReceivedSignal,
        signalArgs: [{ deliveries }],
      }),
    isStartedAgain: (end) => afterEnd(end) === 'again',
  });
  if (!('stays' in begun)) return 'started';
  const verdict = afterEnd(begun.stays);
  return verdict === 'again' ? 'started' : verdict;
}

async function signalReport(
  { client, taskQueue, inTime }: Parts,
  key: CompanyReportKey,
  deliveries: DeliveryNotice[],
): Promise<DeliveryResult> {
  for (const some of inParts(deliveries)) {
    await inTime(() =>
      client.workflow.signalWithStart<CompanyReport, SignalArguments>('companyReport', {
        ...reportStart(key, reportInput(key, deliveries), taskQueue),
        signal: deliveryReceivedSignal,
        signalArgs: [{ deliveries: some }],
      }),
    );
  }
  return 'reported';
}

async function park({ client, taskQueue, inTime }: Parts, delivery: ParkedDeliveryInput): Promise<void> {
  const { account, reason, eventType } = delivery;
  const summary = `Delivery of ${eventType} of account ${account} that has no place: ${reason}`;
  const start = singleRunStart({ workflowId: parkedDeliveryId(delivery), taskQueue, input: delivery, summary });
  await unlessEnded(inTime(() => client.workflow.start<Parked>('parkedDelivery', start)));
}

/** A report that names no order stands under the id of its delivery. */
function reportInput({ account, about }: CompanyReportKey, deliveries: readonly DeliveryNotice[]): CompanyReportInput {
  const isOrder = (id: string): id is OrderId => deliveries.every(({ deliveryId }) => deliveryId !== id);
  return isOrder(about) ? { account, orderId: about } : { account };
}

function* inParts(deliveries: readonly DeliveryNotice[]): Generator<DeliveryNotice[]> {
  for (let from = 0; from < deliveries.length; from += deliveriesPerSignal)
    yield deliveries.slice(from, from + deliveriesPerSignal);
}

/** gRPC codes that speak of the server, the connection or our right to use it, not of one workflow. */
const serverCodes: readonly number[] = [
  1, // CANCELLED: the connection is being closed
  2, // UNKNOWN
  4, // DEADLINE_EXCEEDED
  7, // PERMISSION_DENIED
  8, // RESOURCE_EXHAUSTED
  14, // UNAVAILABLE
  16, // UNAUTHENTICATED
];

/** `TemporalUnavailable` for what keeps every call from working; anything else as it is. */
export function toUnavailable(error: unknown): unknown {
  const isOfServer = serverCodes.includes(grpcErrorOf(error)?.code ?? 0);
  return isOfServer || error instanceof NamespaceNotFoundError ? new TemporalUnavailable({ cause: error }) : error;
}
