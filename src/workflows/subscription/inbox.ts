import { ApplicationFailure, condition, setHandler } from '@temporalio/workflow';
import { defaultGraceMs, parseEndInput, parseMoveInput, parseRotateInput } from '../../domain/subscription/input.js';
import type { SubscriptionState } from '../../domain/subscription/state.js';
import {
  type SubscriptionEnd,
  type SubscriptionStatus,
  toSubscriptionStatus,
} from '../../domain/subscription/status.js';
import {
  endSubscriptionUpdate,
  moveSubscriptionUpdate,
  rotateSubscriptionUpdate,
  subscriptionStatusQuery,
} from '../messages.js';
import { onUpdate } from '../run-kit.js';

/** What callers want of the run. Handlers write here and wait; the main body decides. */
export interface SubscriptionInbox {
  /** New addresses asked for so far; one that is opened serves all that were asked for before. */
  asked: number;
  served: number;
  /** The shortest grace among those asked for and not served; undefined: that of the subscription. */
  graceMs: number | undefined;
  endReason: string | null;
}

/** The state lives in the main body; handlers see it through this. */
export interface SubscriptionHolder {
  state: SubscriptionState;
  /** Set once all is done and the callers of `endSubscription` may be answered. */
  end: SubscriptionEnd | null;
}

/** The inbox of a new run. */
export const openSubscriptionInbox = (): SubscriptionInbox => ({
  asked: 0,
  served: 0,
  graceMs: undefined,
  endReason: null,
});

/** Was an address asked for that the run has not opened yet? */
export const isAddressWanted = (inbox: SubscriptionInbox): boolean => inbox.asked > inbox.served;

/** Asks for a new address; the number is that of this wish. */
export function askForAddress(inbox: SubscriptionInbox, graceMs = defaultGraceMs): number {
  inbox.graceMs = Math.min(inbox.graceMs ?? graceMs, graceMs);
  inbox.asked += 1;
  return inbox.asked;
}

/** Registers all handlers. Must run before the first await of the run. `graceMs`: where a caller names none. */
export function listenToSubscription(run: SubscriptionHolder, inbox: SubscriptionInbox, graceMs?: number): void {
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
    return run.end ?? neverEnds();
  });
}

const ended = (): ApplicationFailure =>
  ApplicationFailure.nonRetryable('The subscription ends; start it anew to subscribe again.', 'SubscriptionEnded');

function neverEnds(): never {
  throw ApplicationFailure.nonRetryable('The run went on without an end.', 'SubscriptionEnded');
}
