import { ApplicationFailure } from '@temporalio/common';
import { type Account, actsForCompany } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { jitterShare } from '../domain/order/cadence.js';
import type {
  CreateSubscriberInput,
  RemovalOutcome,
  RemoveSubscriberInput,
  SubscribingOutcome,
} from '../domain/subscription/state.js';
import { notYet, plainFailure } from './failures.js';
import { toFailureType } from './looking.js';
import { type Claims, runOfActivity } from './runs.js';
import { type Sending, type SubscriberCalls, toSubscriptionTrouble } from './subscriber-calls.js';

/** The ports of the activities. */
export interface SubscriptionActivityPorts {
  /** Throws a retryable failure when this process does not hold the account. */
  account(name: AccountName): Account;
  calls: SubscriberCalls;
  claims: Pick<Claims, 'take'>;
  now?: () => number;
}

export type SubscriptionActivities = ReturnType<typeof createSubscriptionActivities>;

/** Activities that change the subscribers at the service. No address or secret leaves them in clear. */
export function createSubscriptionActivities({ account, calls, claims, now = Date.now }: SubscriptionActivityPorts) {
  async function clarify(input: CreateSubscriberInput, reason: string): Promise<SubscribingOutcome> {
    const found = await calls.find(input).catch(() => undefined);
    if (found) return { kind: 'registered', ...found };
    const message = `${reason}: the service may have subscribed us all the same. It is asked again, for another address.`;
    return { kind: 'unclear', message };
  }

  return {
    /** One request for a subscription. One with an unclear outcome is never repeated at the same address. */
    async createSubscriber(input: CreateSubscriberInput): Promise<SubscribingOutcome> {
      const sending: Sending = { isSent: false };
      const claim = () => claims.take(runOfActivity(), `createSubscriber ${input.generation} ${input.number}`);
      try {
        refuseOtherInterface(account(input.account));
        const registration = await calls.create(input, sending, claim);
        if (registration) return { kind: 'registered', ...registration };
        return await clarify(input, 'An attempt before may have asked for it');
      } catch (error) {
        if (sending.isSent) return await clarify(input, error instanceof FaretrailError ? error.message : 'no answer');
        if (error instanceof ApplicationFailure && error.nonRetryable) throw error;
        const trouble = toSubscriptionTrouble(error, input, now());
        const message = 'An attempt broke off before its request.';
        return { kind: 'trouble', trouble: trouble ?? { code: 'upstreamUnavailable', message } };
      }
    },

    /** Removes a subscriber at the service, if the contract profile allows it. */
    async removeSubscriber(input: RemoveSubscriberInput): Promise<RemovalOutcome> {
      return await calls.remove(input).catch((error: unknown) => {
        const trouble = toSubscriptionTrouble(error, input, now());
        if (!trouble) throw error;
        throw plainFailure({ type: toFailureType(trouble.code), message: trouble.message });
      });
    },
  };
}

/** The documents of the service show subscriptions at the business interface only. */
function refuseOtherInterface({ name, interface: at }: Account): void {
  if (actsForCompany[at]) return;
  const message = `account: ${name} belongs to the ${at} interface; only business accounts can subscribe`;
  throw ApplicationFailure.nonRetryable(message, 'InvalidInput');
}

/** The input of a watch over the resets of a subscription. */
export interface WatchResetsInput {
  everyMs: number;
  /** ISO instant at which the run opened the newest address. */
  openedAt: string;
}

export interface ResetActivityPorts {
  /** Was the run, or one that it continues, reset after this instant (epoch milliseconds)? */
  wasReset(run: { workflowId: string; runId: string }, after: number): Promise<boolean>;
  random?: () => number;
}

export type ResetActivities = ReturnType<typeof createResetActivities>;

/** The activity that notices resets. It uses nothing of an account's request budget. */
export const createResetActivities = ({ wasReset, random = Math.random }: ResetActivityPorts) => ({
  /** Completes when an operator has reset the run, which then may not know its newest address. Temporal repeats it until then. */
  async watchResets({ everyMs, openedAt }: WatchResetsInput): Promise<void> {
    // A run that is reset to the end of a request takes that address for new.
    if (await wasReset(runOfActivity(), Date.parse(openedAt))) return;
    throw notYet('The run was not reset.', everyMs * (1 + random() * jitterShare));
  },
});
