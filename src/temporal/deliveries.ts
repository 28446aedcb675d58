import { type Client, NamespaceNotFoundError } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { Account } from '../domain/account.js';
import type { DeliveryNotice, DeliveryResult } from '../domain/delivery.js';
import { isEndParkReason } from '../domain/delivery.js';
import { FaretrailError } from '../domain/errors.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import { afterEnd } from '../domain/order/earlier-run.js';
import type { ParkedDelivery, ParkedDeliveryInput } from '../domain/parked.js';
import { publishedAddresses } from '../domain/published.js';
import type { CompanyReportInput } from '../domain/report.js';
import { searchAttributeNames } from '../domain/search-attribute-names.js';
import {
  type CompanyReportKey,
  companyReportId,
  type FollowOrderKey,
  followOrderId,
  parkedDeliveryId,
  subscriptionId,
} from '../domain/workflow-ids.js';
import { type DeliveryPort, TemporalUnavailable } from '../webhooks/delivery-port.js';
import { deliveryReceivedSignal } from '../workflows/messages.js';
import type { followOrder } from '../workflows/order/follow-order.js';
import { countParked } from './counts.js';
import { beginOrder } from './follow-start.js';
import { isGrpc } from './run-errors.js';
import { type FoundRun, runOf, unlessEnded } from './runs.js';
import { reportStart, singleRunStart } from './starts.js';

/** What the ingress needs to deliver to runs. */
export interface DeliveryPortOptions {
  client: Client;
  /** Where the workflows run. */
  taskQueue: string;
  /** What to do with deliveries about orders of this account that have no run. */
  untracked(account: AccountName): Account['untracked'];
}

const statusKey = defineSearchAttributeKey(searchAttributeNames.status, 'KEYWORD');
const deadlineMs = 5_000;
/** Keeps a signal below 200 KiB. */
const deliveriesPerSignal = 1_000;

type SignalArguments = [{ deliveries: DeliveryNotice[] }];
type CompanyReport = (input: CompanyReportInput) => Promise<unknown>;
type Parked = (input: ParkedDeliveryInput) => Promise<ParkedDelivery>;

type Parts = DeliveryPortOptions & { inTime<T>(call: () => Promise<T>): Promise<T> };

/** Delivers to runs. Rejects with `TemporalUnavailable` when no call can succeed now; any other error is about this delivery alone. */
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
    toOrder: (key, deliveries) => deliverToOrder(parts, key, deliveries),
    async signalOrder(key, deliveries) {
      const run = runOf(client, followOrderId(key));
      for (const some of inParts(deliveries))
        if (!(await inTime(() => run.signal(deliveryReceivedSignal, { deliveries: some })))) return false;
      return true;
    },
    async isSettled(key) {
      const about = await inTime(() => runOf(client, followOrderId(key)).find());
      return !about?.isOpen || about.typedSearchAttributes.get(statusKey) !== undefined;
    },
    toReport: (key, deliveries) => startReport(parts, key, deliveries),
    signalReport: (key, deliveries) => signalReport(parts, key, deliveries),
    async isReportSettled(key) {
      const about = await inTime(() => runOf(client, companyReportId(key)).find());
      return !about?.isOpen || hasNothingToRead(about);
    },
    park: (delivery) => park(parts, delivery),
    countParked: (account) => inTime(() => countParked(client, options.taskQueue, account)),
    async readSubscription(key) {
      const about = await inTime(() => runOf(client, subscriptionId(key)).find());
      if (!about) return null;
      const memo = publishedAddresses(about.memo);
      return about.isOpen && memo ? memo : { accepted: [] };
    },
    ping: () => inTime(async () => void (await client.workflowService.getSystemInfo({}))),
  };
}

async function deliverToOrder(
  parts: Parts,
  key: FollowOrderKey,
  deliveries: readonly DeliveryNotice[],
): Promise<DeliveryResult> {
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
}

async function sendToOrder(parts: Parts, key: FollowOrderKey, deliveries: DeliveryNotice[]): Promise<DeliveryResult> {
  const { client, untracked } = parts;
  const run = runOf(client, followOrderId(key));
  if (await run.signal(deliveryReceivedSignal, { deliveries })) return 'signalled';
  const isWanted = untracked(key.account) === 'follow' || (await run.find()) !== undefined;
  return isWanted ? await startWith(parts, key, deliveries) : 'ignored';
}

/** Signals with a start, unless the end of an earlier run forbids another run. A run that another caller has just started gets the signal. */
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

async function signalReport(parts: Parts, key: CompanyReportKey, deliveries: DeliveryNotice[]): Promise<boolean> {
  const { client, inTime } = parts;
  const { account, about } = key;
  const run = runOf(client, companyReportId(key));
  const [first = [], ...more] = inParts(deliveries);
  if (await inTime(() => run.signal(deliveryReceivedSignal, { deliveries: first }))) {
    for (const some of more) await startReport(parts, key, some);
    return true;
  }
  const orderId = isOrder(about, deliveries) ? about : null;
  if (orderId === null || !(await inTime(() => runOf(client, followOrderId({ account, orderId })).find())))
    return false;
  await startReport(parts, key, deliveries);
  return true;
}

/** A receipt that is missing for longer may stay missing, and the run looks for it ever more slowly. */
const firstLooksMs = 10 * 60_000;

/** Only a run that has just started or still looks for a receipt has a task or an activity. */
function hasNothingToRead({ raw, startTime }: FoundRun): boolean {
  const hasWork = (raw.pendingActivities?.length ?? 0) > 0 || raw.pendingWorkflowTask != null;
  return !hasWork || Date.now() - startTime.getTime() > firstLooksMs;
}

async function startReport(
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
  const summary = `Parked delivery of ${eventType} of account ${account}: ${reason}`;
  const start = singleRunStart(parkedDeliveryId(delivery), delivery, taskQueue, summary);
  await unlessEnded(inTime(() => client.workflow.start<Parked>('parkedDelivery', start)));
}

/** A report that names no order has the id of its delivery in place of an order id. */
function reportInput({ account, about }: CompanyReportKey, deliveries: readonly DeliveryNotice[]): CompanyReportInput {
  return isOrder(about, deliveries) ? { account, orderId: about } : { account };
}

const isOrder = (about: string, deliveries: readonly DeliveryNotice[]): about is OrderId =>
  deliveries.every(({ deliveryId }) => deliveryId !== about);

function* inParts(deliveries: readonly DeliveryNotice[]): Generator<DeliveryNotice[]> {
  for (let from = 0; from < deliveries.length; from += deliveriesPerSignal)
    yield deliveries.slice(from, from + deliveriesPerSignal);
}

/** `TemporalUnavailable` for an error that affects every call: it is about the server, the connection or our permissions, not about one
 *  run. Any other error as it is. */
export function toUnavailable(error: unknown): unknown {
  const isOfServer =
    isGrpc(error, 'CANCELLED', 'UNKNOWN', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'UNAVAILABLE') ||
    isGrpc(error, 'PERMISSION_DENIED', 'UNAUTHENTICATED');
  return isOfServer || error instanceof NamespaceNotFoundError ? new TemporalUnavailable({ cause: error }) : error;
}
