import type { Subscriber } from '../contracts/subscriber-reply.js';
import type { Account } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import type { ReadTrouble } from '../domain/struggle.js';
import type {
  Registration,
  RemovalOutcome,
  RemoveSubscriberInput,
  SubscriptionAddress,
} from '../domain/subscription/state.js';
import { subscriptionId } from '../domain/workflow-ids.js';
import { RideApiError, sentBy } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import type { AuthorizedCall } from './authorized-call.js';
import { toReadTrouble } from './looking.js';

/** This worker cannot make an address that the ingress could verify. */
class WebhookKeysMissing extends FaretrailError<'WebhookKeysMissing'> {
  override readonly name = 'WebhookKeysMissing';

  constructor() {
    super('WebhookKeysMissing', 'this worker holds no webhook keys');
  }
}

/** What a failed call about subscribers means for the run. Undefined for an error that Temporal repeats. */
export function toSubscriptionTrouble(
  error: unknown,
  { account }: { account: AccountName },
  now: number,
): ReadTrouble | undefined {
  if (error instanceof WebhookKeysMissing) {
    const remedy = 'Set FARETRAIL_WEBHOOK_KEYS for every worker, the same keys as for the ingress';
    return { code: 'credentialsRejected', message: `${error.message}. ${remedy}.` };
  }
  const trouble = toReadTrouble(error, { account, operation: 'createSubscriber' }, now);
  // This call reads no status, so the service refuses the subscription.
  if (trouble?.code !== 'unreadableStatus' || !(error instanceof Error)) return trouble;
  const remedy =
    'Check the public URL, the permissions of the account and operations.createSubscriber in the contract profile';
  return { ...trouble, code: 'forbidden', message: `${error.message}. ${remedy}.` };
}

/** Operations that need the webhook keys. */
interface WebhookSecrets {
  /** Path of an address, its secret part included. */
  pathOf(address: SubscriptionAddress): string;
  seal(secretId: string, context: string): Promise<string>;
}

export interface SubscriberCallPorts {
  /** Throws a retryable failure when this process does not hold the account. */
  account(name: AccountName): Account;
  rideApi: Pick<RideApi, 'createSubscriber' | 'listSubscribers' | 'deleteSubscriber' | 'scopeOf'>;
  call: AuthorizedCall;
  /** Null when this process holds no webhook keys. */
  webhooks: WebhookSecrets | null;
  /** What the contract profile switches on. */
  enabled: { list: boolean; delete: boolean };
}

/** The state of a request. */
export interface Sending {
  /** The service may have carried out the request. */
  isSent: boolean;
}

export type SubscriberCalls = ReturnType<typeof createSubscriberCalls>;

/** The calls about subscribers. Their results hold no address and no unsealed secret. */
export function createSubscriberCalls({ account: accountOf, rideApi, call, webhooks, enabled }: SubscriberCallPorts) {
  function addressOf(address: SubscriptionAddress): string {
    if (!webhooks) throw new WebhookKeysMissing();
    return `${address.publicUrl}${webhooks.pathOf(address)}`;
  }

  async function toRegistration(
    { secretId, id, createdAt, updatedAt }: Subscriber,
    address: SubscriptionAddress,
  ): Promise<Registration> {
    const subscriber = { id, createdAt, updatedAt };
    if (secretId === null || !webhooks) return { subscriber, sealedSecret: null };
    return { subscriber, sealedSecret: await webhooks.seal(secretId, subscriptionId(address)) };
  }

  /** The newest subscriber at this address in the service's list. Undefined if there is no list or it has none. */
  async function find(address: SubscriptionAddress): Promise<Registration | undefined> {
    if (!enabled.list) return undefined;
    const deliveryAddress = addressOf(address);
    const account = accountOf(address.account);
    const scope = rideApi.scopeOf(account, 'listSubscribers');
    const listed = await call(account, scope, (token) => rideApi.listSubscribers(account, token));
    const found = listed.findLast((subscriber) => subscriber.deliveryAddress === deliveryAddress);
    return found && (await toRegistration(found, address));
  }

  return {
    find,

    /** Undefined, and nothing is sent, unless `mayAsk`, which is called before the first request. */
    async create(
      address: SubscriptionAddress,
      sending: Sending,
      mayAsk: () => Promise<boolean>,
    ): Promise<Registration | undefined> {
      let isClaimed = false;
      const account = accountOf(address.account);
      const subscriber = { deliveryAddress: addressOf(address), eventType: address.eventType };
      const scope = rideApi.scopeOf(account, 'createSubscriber');
      const created = await call(account, scope, async (token) => {
        isClaimed ||= await mayAsk();
        if (!isClaimed) return undefined;
        sending.isSent = true;
        return await rideApi.createSubscriber(account, subscriber, token).catch((error: unknown) => {
          // A 503 says no (RFC 9110 section 15.6.4). If it is wrong, there is one more subscriber, and not one more ride.
          const isTurnedAway = error instanceof RideApiError && error.status === 503;
          sending.isSent = sentBy(error) === 'unknown' && !isTurnedAway;
          throw error;
        });
      });
      return created && (await toRegistration(created, address));
    },

    async remove(input: RemoveSubscriberInput): Promise<RemovalOutcome> {
      const subscriberId = input.subscriberId ?? (await find(input))?.subscriber.id ?? null;
      if (subscriberId === null) return { kind: enabled.list ? 'removed' : 'unknown', subscriberId };
      if (!enabled.delete) return { kind: 'registered', subscriberId };
      const account = accountOf(input.account);
      const scope = rideApi.scopeOf(account, 'deleteSubscriber');
      await call(account, scope, (token) => rideApi.deleteSubscriber(account, subscriberId, token));
      return { kind: 'removed', subscriberId };
    },
  };
}
