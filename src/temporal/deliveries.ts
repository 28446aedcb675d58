import { type Client, NamespaceNotFoundError } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { ageMs, deadlineIn } from '../clock.js';
import type { Account } from '../domain/account.js';
import type { DeliveryAbout, DeliveryNotice, DeliveryResult } from '../domain/delivery.js';
import { type AccountName, type DeliveryId, toOrderId } from '../domain/keys.js';
import { afterEnd } from '../domain/order/earlier-run.js';
import type { ParkedDelivery, ParkedDeliveryInput } from '../domain/parked.js';
import { publishedAddresses } from '../domain/published.js';
import type { CompanyReportInput } from '../domain/report.js';
import { searchAttributeNames } from '../domain/search-attribute-names.js';
import { followOrderId, parkedDeliveryId, subscriptionId } from '../domain/workflow-ids.js';
import { type DeliveryPort, TemporalUnavailable } from '../webhooks/delivery-port.js';
import { changesCountedSignal, deliveryReceivedSignal } from '../workflows/messages.js';
import type { followOrder } from '../workflows/order/follow-order.js';
import { isGrpc } from './run-errors.js';
import { type FoundRun, runOf, unlessEnded } from './runs.js';
import { beginOrder, reportStart, singleRunStart } from './starts.js';
import { countParked } from './visibility.js';

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

type SignalArguments = [{ deliveries: DeliveryNotice[] }];
type CompanyReport = (input: CompanyReportInput) => Promise<unknown>;
type Parked = (input: ParkedDeliveryInput) => Promise<ParkedDelivery>;

/** Delivers to runs. Rejects with `TemporalUnavailable` when no call can succeed now; any other error is about this delivery alone. */
export function createDeliveryPort({ client, taskQueue, untracked }: DeliveryPortOptions): DeliveryPort {
  const inTime = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await client.withDeadline(deadlineIn(deadlineMs), call);
    } catch (error) {
      throw toUnavailable(error);
    }
  };
  const find = (workflowId: string) => inTime(() => runOf(client, workflowId).find());
  const withSignal = (deliveries: DeliveryNotice[]) => ({
    signal: deliveryReceivedSignal,
    signalArgs: [{ deliveries }] as SignalArguments,
  });

  async function deliverToOrder(
    { account, orderId: about }: DeliveryAbout,
    deliveries: DeliveryNotice[],
  ): Promise<DeliveryResult> {
    const orderId = toOrderId(about); // journals of earlier releases have it as it came
    const run = runOf(client, followOrderId({ account, orderId }));
    if (await run.signal(deliveryReceivedSignal, { deliveries })) return 'signalled';
    const isWanted = untracked(account) === 'follow' || (await run.find()) !== undefined;
    if (!isWanted) return 'ignored';
    // A start with the signal, unless the end of an earlier run forbids another run. A run that another caller has just started gets the signal.
    const begun = await beginOrder(client, {
      input: { account, orderId },
      taskQueue,
      start: (options) =>
        client.workflow.signalWithStart<typeof followOrder, SignalArguments>('followOrder', {
          ...options,
          ...withSignal(deliveries),
        }),
      isStartedAgain: (end) => afterEnd(end) === 'again',
    });
    const verdict = 'stays' in begun ? afterEnd(begun.stays) : 'again';
    return verdict === 'again' ? 'started' : verdict;
  }

  /** A report that names no order has the id of its delivery in place of an order id. */
  async function deliverToReport(
    { account, orderId: about, deliveryId }: DeliveryAbout,
    deliveries: DeliveryNotice[],
  ): Promise<DeliveryResult> {
    const orderId = about === null ? null : toOrderId(about);
    const key = { account, about: orderId ?? (deliveryId as DeliveryId) };
    const input: CompanyReportInput = orderId === null ? { account } : { account, orderId };
    const start = { ...reportStart(key, input, taskQueue), ...withSignal(deliveries) };
    await client.workflow.signalWithStart<CompanyReport, SignalArguments>('companyReport', start);
    return 'reported';
  }

  const deliverTo = { status_changed: deliverToOrder, business_report: deliverToReport };

  return {
    toRun: (about, deliveries) => inTime(() => deliverTo[about.eventType](about, deliveries)),
    signal: (workflowId, deliveries) =>
      inTime(() => runOf(client, workflowId).signal(deliveryReceivedSignal, { deliveries })),
    isKnown: async (order) => (await find(followOrderId(order))) !== undefined,
    async isSettled(workflowId) {
      const run = await find(workflowId);
      return !run?.isOpen || (run.type === 'companyReport' ? hasNothingToRead(run) : hasRead(run));
    },
    async park(delivery) {
      const { account, reason, eventType } = delivery;
      const summary = `Parked delivery of ${eventType} of account ${account}: ${reason}`;
      const start = singleRunStart(parkedDeliveryId(delivery), delivery, taskQueue, summary);
      await inTime(() => unlessEnded(client.workflow.start<Parked>('parkedDelivery', start)));
    },
    countParked: (account) => inTime(() => countParked(client, taskQueue, account)),
    async readSubscription(key) {
      const run = await find(subscriptionId(key));
      if (!run) return null;
      const memo = publishedAddresses(run.memo);
      return run.isOpen && memo ? memo : { accepted: [] };
    },
    reportProofs: (key, counts) =>
      inTime(() => runOf(client, subscriptionId(key)).signal(changesCountedSignal, counts)),
    ping: () => inTime(async () => void (await client.workflowService.getSystemInfo({}))),
  };
}

const hasRead = ({ typedSearchAttributes }: FoundRun): boolean => typedSearchAttributes.get(statusKey) !== undefined;

/** A receipt that is missing for longer may stay missing, and the run looks for it ever more slowly. */
const firstLooksMs = 10 * 60_000;

/** Only a run that has just started or still looks for a receipt has a task or an activity. */
function hasNothingToRead({ raw, startTime }: FoundRun): boolean {
  const hasWork = (raw.pendingActivities?.length ?? 0) > 0 || raw.pendingWorkflowTask != null;
  return !hasWork || ageMs(startTime.getTime()) > firstLooksMs;
}

/** `TemporalUnavailable` for an error that affects every call: it is about the server, the connection or our permissions, not about one
 *  run. Any other error as it is. */
export function toUnavailable(error: unknown): unknown {
  const isOfServer =
    isGrpc(error, 'CANCELLED', 'UNKNOWN', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'UNAVAILABLE') ||
    isGrpc(error, 'PERMISSION_DENIED', 'UNAUTHENTICATED');
  return isOfServer || error instanceof NamespaceNotFoundError ? new TemporalUnavailable({ cause: error }) : error;
}
