import { ApplicationFailure, condition, setHandler } from '@temporalio/workflow';
import { defaultGraceMs, parseEndInput, parseMoveInput, parseRotateInput } from '../../domain/subscription/input.js';
import { type ChangeCounts, readChangeCounts } from '../../domain/subscription/silence.js';
import type { SubscriptionState } from '../../domain/subscription/state.js';
import {
  type SubscriptionEnd,
  type SubscriptionStatus,
  toSubscriptionStatus,
} from '../../domain/subscription/status.js';
import { listenToClaims } from '../business-call.js';
import {
  changesCountedSignal,
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
  /** What the watch of the account has counted since the run last judged. */
  counted: ChangeCounts[];
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
  counted: [],
});

/** Does a caller wait for a new address? */
export const isAddressWanted = (inbox: SubscriptionInbox): boolean => inbox.asked > inbox.served;

/** Asks for a new address; returns the number of this request. */
export function askForAddress(inbox: SubscriptionInbox, graceMs = defaultGraceMs): number {
  inbox.graceMs = Math.min(inbox.graceMs ?? graceMs, graceMs);
  inbox.asked += 1;
  return inbox.asked;
}

/** Registers all handlers. Must run before the first await of the run. `graceMs`: the grace unless a caller names one. */
export function listenToSubscription(
  run: SubscriptionHolder,
  inbox: SubscriptionInbox,
  graceMs: number | undefined,
): void {
  listenToClaims();
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
  setHandler(changesCountedSignal, (given) => {
    inbox.counted.push(...[readChangeCounts(given)].filter((counts) => counts !== null));
  });
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
}

const ended = (): ApplicationFailure =>
  ApplicationFailure.nonRetryable('The subscription ends; create it again to subscribe.', 'SubscriptionEnded');
