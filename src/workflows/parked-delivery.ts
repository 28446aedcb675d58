import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  condition,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertMemo,
} from '@temporalio/workflow';
import type { DeliveryActivities } from '../activities/delivery.js';
import type { DeliveryResult } from '../domain/delivery.js';
import type { OrderId } from '../domain/keys.js';
import {
  describeParked,
  type ParkedDelivery,
  type ParkedDeliveryInput,
  parkedMemoField,
  parseDiscardInput,
  parseParkedDeliveryInput,
  parseRouteInput,
  type RoutedDelivery,
} from '../domain/parked.js';
import { parkedDeliveryId } from '../domain/workflow-ids.js';
import { promptRetry } from './activity-options.js';
import { discardDeliveryUpdate, parkedStatusQuery, routeDeliveryUpdate } from './messages.js';
import { refuseBadInput, requireWorkflowId } from './run-kit.js';
import { writeAccount } from './search-attributes.js';

interface Parked {
  delivery: ParkedDelivery;
  /** A person's decision is being carried out. */
  isBusy: boolean;
}

/**
 * A delivery that nobody could place, kept sealed until a person routes or discards it, however long that takes. Fails with
 * `InvalidInput` (names the field).
 */
export async function parkedDelivery(input: ParkedDeliveryInput): Promise<ParkedDelivery> {
  const parked = open(input);
  setHandler(parkedStatusQuery, () => parked.delivery);
  setHandler(routeDeliveryUpdate, (given) => route(parked, parseRouteInput(given).orderId), {
    validator: (given) => refuseBadInput(() => checkFree(parked, parseRouteInput(given))),
  });
  setHandler(discardDeliveryUpdate, (given) => discard(parked, parseDiscardInput(given).reason), {
    validator: (given) => refuseBadInput(() => checkFree(parked, parseDiscardInput(given))),
  });
  writeAccount(parked.delivery.account);
  show(parked.delivery);
  await condition(() => parked.delivery.outcome !== 'waiting' && allHandlersFinished());
  return parked.delivery;
}

function open(rawInput: ParkedDeliveryInput): Parked {
  const { sealed: _sealed, ...kept } = refuseBadInput(() => parseParkedDeliveryInput(rawInput));
  requireWorkflowId(parkedDeliveryId(kept));
  return { delivery: { ...kept, outcome: 'waiting', orderId: null, discardReason: null }, isBusy: false };
}

/** One decision at a time, and one in all. */
function checkFree({ delivery, isBusy }: Parked, _readable: unknown): void {
  if (delivery.outcome === 'waiting' && !isBusy) return;
  const standing = isBusy ? 'is just being routed' : `was ${delivery.outcome}`;
  throw ApplicationFailure.nonRetryable(`This delivery ${standing}.`, 'AlreadyDecided');
}

async function route(parked: Parked, orderId: OrderId): Promise<RoutedDelivery> {
  parked.isBusy = true;
  try {
    const { account, eventType, deliveryId, receivedAt } = parked.delivery;
    const handedOver = await giveToOrder({ account, eventType, deliveryId, receivedAt, orderId });
    const refusal = refusalOf(handedOver, account, orderId);
    if (refusal !== null) throw ApplicationFailure.nonRetryable(refusal, 'NotRouted');
    decide(parked, { outcome: 'routed', orderId });
    return { ...parked.delivery, handedOver };
  } finally {
    parked.isBusy = false;
  }
}

/** Why the delivery has reached nobody and stays; null when it has. */
function refusalOf(handedOver: DeliveryResult, account: string, orderId: OrderId): string | null {
  switch (handedOver) {
    case 'ignored':
      return `Nobody follows order ${orderId}, and account ${account} ignores such orders. Follow it first.`;
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

/** A person waits for the answer, so it is not tried for long; a delivery that arrives twice is one. */
async function giveToOrder(input: Parameters<DeliveryActivities['handOverDelivery']>[0]): Promise<DeliveryResult> {
  const { handOverDelivery } = proxyActivities<DeliveryActivities>({
    startToCloseTimeout: 10_000,
    scheduleToCloseTimeout: 20_000,
    retry: promptRetry,
    summary: `Give the delivery to order ${input.orderId}`,
  });
  try {
    return await handOverDelivery(input);
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    const message = 'The delivery could not be handed over within 20 s. It stays parked: route it again.';
    throw ApplicationFailure.nonRetryable(message, 'NotRouted');
  }
}

function discard(parked: Parked, reason: string): ParkedDelivery {
  decide(parked, { outcome: 'discarded', discardReason: reason });
  return parked.delivery;
}

function decide(parked: Parked, decision: Partial<ParkedDelivery>): void {
  parked.delivery = { ...parked.delivery, ...decision };
  show(parked.delivery);
}

/** The memo lets the list of parked deliveries be read without asking each run. */
function show(delivery: ParkedDelivery): void {
  setCurrentDetails(describeParked(delivery));
  upsertMemo({ [parkedMemoField]: delivery });
}
