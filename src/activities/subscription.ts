import { ApplicationFailure } from '@temporalio/common';
import { type Account, actsForCompany } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import type { SilenceWatch } from '../domain/subscription/input.js';
import { judgeSilence, type OrderCounts, silenceWindowStart } from '../domain/subscription/silence.js';
import type {
  CreateSubscriberInput,
  RemovalOutcome,
  RemoveSubscriberInput,
  SubscribingOutcome,
} from '../domain/subscription/state.js';
import type { EventType } from '../domain/subscription/subscription.js';
import { type Claims, runOfActivity } from './claims.js';
import { notYet, plainFailure } from './failures.js';
import { toFailureType } from './looking.js';
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

/** The input of a watch over a subscription. */
export interface WatchSilenceInput extends SilenceWatch {
  account: AccountName;
  eventType: EventType;
  /** ISO instant at which the run opened the newest address. */
  openedAt: string;
  /** ISO instant since which the service delivers there. */
  registeredAt: string;
  /** What the run shows now. */
  isSilent: boolean;
  /** ISO instant from which lasting silence is news again; null: never. */
  tellAgainAt: string | null;
}

/** The news of a watch. `reset`: an operator has reset the run since, so that it may not know the newest address. */
export type SilenceVerdict = { kind: 'reset' } | { kind: 'silence'; isSilent: boolean; counts: OrderCounts };

export interface SilenceActivityPorts {
  /** Counts, in visibility, orders of the account that started after this instant (epoch milliseconds). */
  countOrders(account: AccountName, startedAfter: number): Promise<OrderCounts>;
  /** Was the run, or one that it continues, reset after this instant (epoch milliseconds)? */
  wasReset(run: { workflowId: string; runId: string }, after: number): Promise<boolean>;
  now?: () => number;
  random?: () => number;
}

export type SilenceActivities = ReturnType<typeof createSilenceActivities>;

/** Spreads subscriptions that began together, since visibility accepts few calls a second. */
const jitterShare = 0.1;

/** The activity that notices missing deliveries. It uses nothing of an account's request budget. */
export function createSilenceActivities(ports: SilenceActivityPorts) {
  const { countOrders, wasReset, now = Date.now, random = Math.random } = ports;
  const again = (message: string, everyMs: number) => notYet(message, everyMs * (1 + random() * jitterShare));
  return {
    /** Completes only with news. Until then Temporal repeats it every `everyMs`, which adds no event. */
    async watchSilence(input: WatchSilenceInput): Promise<SilenceVerdict> {
      const { account, eventType, openedAt, registeredAt, everyMs, isSilent, tellAgainAt } = input;
      // A run that is reset to the end of a request takes that address for new, and sets `registeredAt` once more.
      if (await wasReset(runOfActivity(), Date.parse(openedAt))) return { kind: 'reset' };
      // There is no expected rate of reports.
      if (eventType !== 'status_changed') throw again('The run was not reset.', everyMs);
      const counts = await countOrders(account, silenceWindowStart(registeredAt, everyMs, now()));
      const verdict = judgeSilence(counts, input.minOrders, isSilent);
      const isDue = verdict && tellAgainAt !== null && Date.parse(tellAgainAt) <= now();
      if (verdict !== isSilent || isDue) return { kind: 'silence', isSilent: verdict, counts };
      throw again(verdict ? 'Deliveries are still silent.' : 'Nothing speaks against the deliveries.', everyMs);
    },
  };
}
