import { activityInfo, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Account } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { judge, type Struggle, struggleAfter } from '../domain/struggle.js';
import type {
  CreateSubscriberInput,
  RemovalOutcome,
  RemoveSubscriberInput,
  SubscribingOutcome,
} from '../domain/subscription-requests.js';
import { notYet, toDelay } from './not-yet.js';
import { toFailureType } from './read-trouble.js';
import type { Sending, SubscriberCalls } from './subscriber-calls.js';
import { toSubscriptionTrouble } from './subscription-trouble.js';

export interface SubscriptionActivityPorts {
  /** Throws a retryable failure when this process does not hold the account. */
  account(name: AccountName): Account;
  calls: SubscriberCalls;
  now?: () => number;
  random?: () => number;
}

export type SubscriptionActivities = ReturnType<typeof createSubscriptionActivities>;

/** What one attempt leaves for the next, in the heartbeat details: they add no event. */
interface Progress extends Sending {
  /** Which attempt left it. */
  attempt: number;
  struggle: Struggle | null;
}

/** Activities that change which subscribers the service has. No address and no secret leaves them in clear. */
export function createSubscriptionActivities(ports: SubscriptionActivityPorts) {
  const { account, calls, now = Date.now, random = Math.random } = ports;

  async function attempt(input: CreateSubscriberInput, progress: Progress): Promise<SubscribingOutcome> {
    refuseOtherInterface(account(input.account));
    const raised = progress.struggle ? raiseOrWait(progress.struggle, input) : waitUntil(input.notBefore);
    if (raised) return raised;
    return { kind: 'registered', ...(await calls.create(input, progress, () => heartbeat({ ...progress }))) };
  }

  async function recover(error: unknown, input: CreateSubscriberInput, before: Progress): Promise<SubscribingOutcome> {
    if (before.isSent) return await clarify(input, error instanceof FaretrailError ? error.message : 'no answer');
    const trouble = toSubscriptionTrouble(error, input, now());
    if (!trouble) {
      heartbeat(before);
      throw error;
    }
    const struggle = struggleAfter(before.struggle, trouble, { shown: input.shown, now: now(), random: random() });
    heartbeat({ ...before, struggle });
    return raiseOrWait(struggle, input) ?? fail(struggle, 1);
  }

  async function clarify(input: CreateSubscriberInput, reason: string): Promise<SubscribingOutcome> {
    const found = await calls.find(input).catch(() => undefined);
    if (found) return { kind: 'registered', ...found };
    const message = `${reason}: the service may have subscribed us all the same. It is asked again, for another address.`;
    return { kind: 'unclear', message };
  }

  function raiseOrWait(struggle: Struggle, { shown }: CreateSubscriberInput): SubscribingOutcome | undefined {
    const verdict = judge(struggle, shown, now());
    if (verdict.act === 'wait') return fail(struggle, verdict.waitMs);
    return verdict.act === 'raise' ? toTrouble(struggle) : undefined;
  }

  function waitUntil(notBefore: string | null): undefined {
    const waitMs = notBefore === null ? 0 : Date.parse(notBefore) - now();
    if (waitMs > 0) throw notYet(`Waits until ${notBefore}.`, waitMs);
  }

  return {
    /** One request for a subscription. What surely failed is repeated slowly by Temporal, and the run learns of it when a
     *  person should. What may have been carried out is never repeated at the same address. */
    async createSubscriber(input: CreateSubscriberInput): Promise<SubscribingOutcome> {
      const { attempt: number, heartbeatDetails } = activityInfo();
      const before = (heartbeatDetails ?? null) as Progress | null;
      // Every attempt that comes to its end leaves word of it; what is there may be of one before the last.
      const isWellEnded = before?.attempt === number - 1 && !before.isSent;
      if (number > 1 && !isWellEnded) return await clarify(input, 'A worker stopped during a request');
      const progress: Progress = { attempt: number, isSent: false, struggle: before?.struggle ?? null };
      return await attempt(input, progress).catch((error: unknown) => recover(error, input, progress));
    },

    /** Makes the service forget a subscriber, where the contract profile lets us. */
    async removeSubscriber(input: RemoveSubscriberInput): Promise<RemovalOutcome> {
      return await calls.remove(input).catch((error: unknown) => {
        const trouble = toSubscriptionTrouble(error, { account: input.account, shown: null }, now());
        if (!trouble) throw error;
        throw ApplicationFailure.create({ type: toFailureType(trouble.code), message: trouble.message });
      });
    },
  };
}

/** The partner interface has no subscriptions (given). */
function refuseOtherInterface({ name, interface: at }: Account): void {
  if (at === 'business') return;
  const message = `account: ${name} belongs to the ${at} interface; only business accounts can subscribe`;
  throw ApplicationFailure.nonRetryable(message, 'InvalidInput');
}

function fail({ code, message, since, failures }: Struggle, waitMs: number): never {
  throw ApplicationFailure.create({
    type: toFailureType(code),
    message: `${message} Attempt ${failures} since ${since}.`,
    nextRetryDelay: toDelay(waitMs),
  });
}

const toTrouble = ({ code, message, since, notBefore }: Struggle): SubscribingOutcome => ({
  kind: 'trouble',
  attention: { code: code === 'orderNotFound' ? 'forbidden' : code, message, since },
  notBefore,
});
