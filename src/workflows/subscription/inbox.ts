import { ApplicationFailure, condition, patched, setHandler } from '@temporalio/workflow';
import { InvalidInput } from '../../domain/errors.js';
import { type OrderId, toOrderId } from '../../domain/keys.js';
import { defaultGraceMs, parseEndInput, parseMoveInput, parseRotateInput } from '../../domain/subscription/input.js';
import { type SubscriptionState, withMiss } from '../../domain/subscription/state.js';
import {
  type SubscriptionEnd,
  type SubscriptionStatus,
  toSubscriptionStatus,
} from '../../domain/subscription/status.js';
import {
  deliveryMissedSignal,
  endSubscriptionUpdate,
  moveSubscriptionUpdate,
  rotateSubscriptionUpdate,
  subscriptionStatusQuery,
} from '../messages.js';
import { onUpdate } from '../run-kit.js';

/** What callers ask of the run. Handlers write here and wait; the main body decides. */
export interface SubscriptionInbox {
  /** How many new addresses callers have asked for; one new address serves all of them. */
  asked: number;
  served: number;
  /** The shortest grace that waiting callers named; undefined: that of the subscription. */
  graceMs: number | undefined;
  endReason: string | null;
}

/** What handlers see of the run. */
export interface SubscriptionHolder {
  state: SubscriptionState;
  /** Set when the run has ended the subscription and answers the callers of `endSubscription`. */
  end: SubscriptionEnd | null;
}

/** The inbox of a new run. */
export const openSubscriptionInbox = (): SubscriptionInbox => ({
  asked: 0,
  served: 0,
  graceMs: undefined,
  endReason: null,
});

/** Does a caller wait for a new address? */
export const isAddressWanted = (inbox: SubscriptionInbox): boolean => inbox.asked > inbox.served;

/** Asks for a new address; returns the number of this request. */
export function askForAddress(inbox: SubscriptionInbox, graceMs = defaultGraceMs): number {
  inbox.graceMs = Math.min(inbox.graceMs ?? graceMs, graceMs);
  inbox.asked += 1;
  return inbox.asked;
}

/** Does this run record how reliably deliveries come? Not where a worker of an earlier release has handled the message or the count. */
export const recordsReliability = (): boolean => patched('reliability-of-deliveries');

/** What handlers need of the run besides its state. */
interface SubscriptionHandling {
  /** The grace unless a caller names one. */
  graceMs: number | undefined;
  /** Publishes the state. */
  show(): void;
}

/** Registers all handlers. Must run before the first await of the run. */
export function listenToSubscription(
  run: SubscriptionHolder,
  inbox: SubscriptionInbox,
  { graceMs, show }: SubscriptionHandling,
): void {
  const status = (): SubscriptionStatus =>
    toSubscriptionStatus(run.state, inbox.endReason !== null || run.end !== null);
  const newAddress = async (grace = graceMs): Promise<SubscriptionStatus> => {
    const mine = askForAddress(inbox, grace);
    await condition(() => inbox.served >= mine || run.end !== null);
    if (inbox.served < mine) throw ended();
    return status();
  };
  const unlessEnding =
    <T>(parse: (given: unknown) => T) =>
    (given: unknown): T => {
      if (inbox.endReason !== null) throw ended();
      return parse(given);
    };
  setHandler(subscriptionStatusQuery, status);
  onUpdate(rotateSubscriptionUpdate, unlessEnding(parseRotateInput), (input) => newAddress(input.graceMs));
  onUpdate(moveSubscriptionUpdate, unlessEnding(parseMoveInput), ({ publicUrl, graceMs: grace }) => {
    run.state = { ...run.state, publicUrl };
    return newAddress(grace);
  });
  onUpdate(endSubscriptionUpdate, parseEndInput, async ({ reason }) => {
    inbox.endReason ??= reason;
    await condition(() => run.end !== null);
    return run.end as SubscriptionEnd;
  });
  setHandler(deliveryMissedSignal, (missed) => {
    const orderId = readOrderId(missed);
    if (orderId === undefined || run.end !== null || !recordsReliability()) return;
    run.state = withMiss(run.state, { orderId, at: new Date().toISOString() });
    show(); // at once: the fleet must not wait
  });
}

/** Undefined for a message that none of our workers has sent. */
function readOrderId(missed: { orderId?: unknown } | null | undefined): OrderId | undefined {
  try {
    return toOrderId(missed?.orderId);
  } catch (error) {
    if (error instanceof InvalidInput) return undefined;
    throw error;
  }
}

const ended = (): ApplicationFailure =>
  ApplicationFailure.nonRetryable('The subscription ends; create it again to subscribe.', 'SubscriptionEnded');
