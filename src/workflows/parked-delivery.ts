import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  proxyActivities,
  setCurrentDetails,
  sleep,
  upsertMemo,
} from '@temporalio/workflow';
import type { DeliveryActivities } from '../activities/runs.js';
import type { DeliveryResult } from '../domain/delivery.js';
import type { OrderId } from '../domain/keys.js';
import { parseReasonInput } from '../domain/order/input.js';
import {
  describeParked,
  type ParkedDelivery,
  type ParkedDeliveryInput,
  parkedMemoField,
  parseParkedDeliveryInput,
  parseRouteInput,
  type RoutedDelivery,
} from '../domain/parked.js';
import { parkedDeliveryId } from '../domain/workflow-ids.js';
import { accountQueue, promptRetry } from './activity-options.js';
import { discardDeliveryUpdate, parkedStatusQuery, routeDeliveryUpdate } from './messages.js';
import { onUpdate, refuseBadInput, requireWorkflowId, setHandler, unless, whenFailed } from './run-kit.js';
import { writeAccount } from './search-attributes.js';

interface Parked {
  delivery: ParkedDelivery;
  /** The run is carrying out a person's decision. */
  isBusy: boolean;
}

/** As long as the compose file keeps ended runs. */
const keptMs = 30 * 86_400_000;

/** Tests set another limit. */
interface ParkedProgress {
  limits?: { keptMs: number };
}

/**
 * A parked delivery, kept sealed until a person routes or discards it, for 30 days at most. Fails with `InvalidInput` (names the
 * field).
 */
export async function parkedDelivery(input: ParkedDeliveryInput, progress?: ParkedProgress): Promise<ParkedDelivery> {
  const parked = open(input);
  setHandler(parkedStatusQuery, () => parked.delivery);
  const isFree = (): void => checkFree(parked);
  onUpdate(routeDeliveryUpdate, parseRouteInput, ({ orderId }) => route(parked, orderId), isFree);
  onUpdate(
    discardDeliveryUpdate,
    parseReasonInput,
    ({ reason }) => decide(parked, { outcome: 'discarded', discardReason: reason }),
    isFree,
  );
  const isDecided = (): boolean => parked.delivery.outcome !== 'waiting';
  writeAccount(parked.delivery.account);
  show(parked.delivery);
  await unless(isDecided, () => expire(parked, progress?.limits?.keptMs ?? keptMs));
  await condition(() => isDecided() && allHandlersFinished());
  return parked.delivery;
}

function open(rawInput: ParkedDeliveryInput): Parked {
  const { sealed: _sealed, ...kept } = refuseBadInput(() => parseParkedDeliveryInput(rawInput));
  requireWorkflowId(parkedDeliveryId(kept));
  return { delivery: { ...kept, outcome: 'waiting', orderId: null, discardReason: null }, isBusy: false };
}

/** Refuses a decision during or after another one. */
function checkFree({ delivery, isBusy }: Parked): void {
  if (delivery.outcome === 'waiting' && !isBusy) return;
  const standing = isBusy ? 'is just being routed' : `was ${delivery.outcome}`;
  throw ApplicationFailure.nonRetryable(`This delivery ${standing}.`, 'AlreadyDecided');
}

/** Gives the delivery up once its time is over. A decision that is under way then goes first. */
async function expire(parked: Parked, afterMs: number): Promise<void> {
  await sleep(afterMs, { summary: 'Give the delivery up if no person decides' });
  await condition(() => !parked.isBusy);
  if (parked.delivery.outcome === 'waiting') decide(parked, { outcome: 'expired' });
}

async function route(parked: Parked, orderId: OrderId): Promise<RoutedDelivery> {
  parked.isBusy = true;
  try {
    const { account, eventType, deliveryId, receivedAt, eventTime } = parked.delivery;
    const happened = eventTime === undefined ? {} : { eventTime };
    const handedOver = await giveToOrder({ account, eventType, deliveryId, receivedAt, ...happened, orderId });
    const refusal = refusalOf(handedOver, account, orderId);
    if (refusal !== null) throw ApplicationFailure.nonRetryable(refusal, 'NotRouted');
    return { ...decide(parked, { outcome: 'routed', orderId }), handedOver };
  } finally {
    parked.isBusy = false;
  }
}

/** Why the delivery stays parked; null if a run took it. */
function refusalOf(handedOver: DeliveryResult, account: string, orderId: OrderId): string | null {
  switch (handedOver) {
    case 'ignored':
      return `No run follows order ${orderId}, and account ${account} ignores such orders. Follow it first.`;
    case 'followingStopped':
      return `The following of order ${orderId} was stopped. Follow it again first: faretrail order follow ${account} ${orderId} --again`;
    case 'endUnreadable':
      return `How the following of order ${orderId} ended cannot be read here. Follow it again first: faretrail order follow ${account} ${orderId} --again`;
    case 'signalled':
    case 'started':
    case 'late':
    case 'reported':
      return null;
  }
}

/**
 * Tries for 20 s, since a person waits for the answer. The order counts a repeated delivery once. On the account's queue, since only a worker
 * that holds the account knows whether it follows orders that it did not ask for.
 */
async function giveToOrder(input: Parameters<DeliveryActivities['handOverDelivery']>[0]): Promise<DeliveryResult> {
  const { handOverDelivery } = proxyActivities<DeliveryActivities>({
    taskQueue: accountQueue(input.account),
    priority: { priorityKey: 1 },
    startToCloseTimeout: 10_000,
    scheduleToCloseTimeout: 20_000,
    retry: promptRetry,
    summary: `Give the delivery to order ${input.orderId}`,
  });
  return await whenFailed(handOverDelivery(input), () => {
    const message = 'The delivery could not be handed over within 20 s. It stays parked: route it again.';
    throw ApplicationFailure.nonRetryable(message, 'NotRouted');
  });
}

function decide(parked: Parked, decision: Partial<ParkedDelivery>): ParkedDelivery {
  parked.delivery = { ...parked.delivery, ...decision };
  show(parked.delivery);
  return parked.delivery;
}

/** The list of parked deliveries reads the memo instead of asking each run. */
function show(delivery: ParkedDelivery): void {
  setCurrentDetails(describeParked(delivery));
  upsertMemo({ [parkedMemoField]: delivery });
}
