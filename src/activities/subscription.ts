import { ApplicationFailure } from '@temporalio/common';
import type { Subscriber } from '../contracts/subscriber-reply.js';
import { type Account, actsForCompany } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { ReadTrouble } from '../domain/failure-streak.js';
import type { AccountName } from '../domain/keys.js';
import type {
  CreateSubscriberInput,
  Registration,
  RemovalOutcome,
  RemoveSubscriberInput,
  SubscribingOutcome,
  SubscriptionAddress,
} from '../domain/subscription/state.js';
import { isLoopbackAddress } from '../domain/web-address.js';
import { subscriptionId } from '../domain/workflow-ids.js';
import { effectOf, RideApiError } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import type { AuthorizedCall } from './authorized-call.js';
import { plainFailure } from './failures.js';
import { type LookingPorts, toFailureType, toReadTrouble } from './looking.js';
import { type Claims, runOfActivity } from './runs.js';

/** This worker cannot make an address that the ingress could verify. */
class WebhookKeysMissing extends FaretrailError<'WebhookKeysMissing'> {
  override readonly name = 'WebhookKeysMissing';

  constructor() {
    super('WebhookKeysMissing', 'this worker holds no webhook keys');
  }
}

/** The service must send deliveries to no host that the settings do not name. */
class PublicUrlNotAllowed extends FaretrailError<'PublicUrlNotAllowed'> {
  override readonly name = 'PublicUrlNotAllowed';

  constructor(origin: string) {
    super('PublicUrlNotAllowed', `FARETRAIL_PUBLIC_URL of this worker does not name ${origin}`);
  }
}

/** What a failed call about subscribers means for the run. Undefined for an error that Temporal repeats. */
function toTrouble(error: unknown, account: AccountName): ReadTrouble | undefined {
  if (error instanceof WebhookKeysMissing) {
    const remedy = 'Set FARETRAIL_WEBHOOK_KEYS for every worker, the same keys as for the ingress';
    return { code: 'credentialsRejected', message: `${error.message}. ${remedy}.` };
  }
  if (error instanceof PublicUrlNotAllowed) {
    const remedy = 'Add it there for every worker, or move the subscription to an origin that is named';
    return { code: 'forbidden', message: `${error.message}. ${remedy}.` };
  }
  const trouble = toReadTrouble(error, { account, operation: 'createSubscriber' });
  // This call reads no status, so the service refuses the subscription.
  if (trouble?.code !== 'unreadableStatus' || !(error instanceof Error)) return trouble;
  const remedy =
    'Check the public URL, the permissions of the account and operations.createSubscriber in the contract profile';
  return { ...trouble, code: 'forbidden', message: `${error.message}. ${remedy}.` };
}

/** An address; without its public URL in the form of releases up to 0.2.0. */
type PlaceOfDeliveries = Omit<SubscriptionAddress, 'publicUrl'> & Partial<Pick<SubscriptionAddress, 'publicUrl'>>;

/** The ports of the activities. */
export interface SubscriptionActivityPorts extends Pick<LookingPorts, 'account'> {
  rideApi: Pick<RideApi, 'createSubscriber' | 'listSubscribers' | 'deleteSubscriber' | 'scopeOf'>;
  call: AuthorizedCall;
  claims: Pick<Claims, 'take'>;
  /** Operations that need the webhook keys; null when this process holds none. */
  webhooks: {
    /** Path of an address, its secret part included. */
    pathOf(address: PlaceOfDeliveries): string;
    seal(secretId: string, context: string): Promise<string>;
  } | null;
  /** Public bases of the ingress. */
  publicUrls: readonly string[];
  /** What the contract profile switches on. */
  enabled: { list: boolean; delete: boolean };
}

export type SubscriptionActivities = ReturnType<typeof createSubscriptionActivities>;

/** Addresses for the service. Both functions throw `WebhookKeysMissing`. */
function createAddressing({ webhooks, publicUrls }: Pick<SubscriptionActivityPorts, 'webhooks' | 'publicUrls'>) {
  const origins = new Set(publicUrls.map((url) => new URL(url).origin));
  const pathOf = (address: PlaceOfDeliveries): string => {
    if (!webhooks) throw new WebhookKeysMissing();
    return webhooks.pathOf(address);
  };
  return {
    /** Throws `PublicUrlNotAllowed`, unless the address is a loopback one, which no other machine can reach. */
    newAddress(address: SubscriptionAddress): string {
      const { publicUrl } = address;
      const { origin } = new URL(publicUrl);
      if (!isLoopbackAddress(publicUrl) && !origins.has(origin)) throw new PublicUrlNotAllowed(origin);
      return `${publicUrl}${pathOf(address)}`;
    },
    /** The address, and the one that releases up to 0.2.0 gave it. */
    addressesOf(address: SubscriptionAddress): string[] {
      const { publicUrl, ...rest } = address;
      return [address, rest].map((one) => `${publicUrl}${pathOf(one)}`);
    },
  };
}

/** Activities that change the subscribers at the service. No address or secret leaves them in clear. */
export function createSubscriptionActivities(ports: SubscriptionActivityPorts) {
  const { rideApi, call, claims, webhooks, enabled } = ports;
  const { newAddress, addressesOf } = createAddressing(ports);

  /** The newest subscriber at this address in the service's list. Undefined if there is no list or it has none. */
  async function find(address: SubscriptionAddress): Promise<Registration | undefined> {
    if (!enabled.list) return undefined;
    const addresses = addressesOf(address);
    const account = ports.account(address.account);
    const scope = rideApi.scopeOf(account, 'listSubscribers');
    const listed = await call(account, scope, (token) => rideApi.listSubscribers(account, token));
    const found = listed.findLast((one) => one.deliveryAddress !== null && addresses.includes(one.deliveryAddress));
    return found && (await toRegistration(found, address, webhooks));
  }

  /** The service may have registered the address: its list may tell. */
  async function clarify(input: CreateSubscriberInput, reason: string): Promise<SubscribingOutcome> {
    const found = await find(input).catch(() => undefined);
    if (found) return { kind: 'registered', ...found };
    const message = `${reason}: the service may have subscribed us all the same. It is asked again, for another address.`;
    return { kind: 'unclear', message };
  }

  return {
    /** One request for a subscription. One with an unclear outcome is never repeated at the same address. */
    async createSubscriber(input: CreateSubscriberInput): Promise<SubscribingOutcome> {
      const { eventType, generation, number } = input;
      let isClaimed = false;
      let isUnclear = false;
      try {
        const account = ports.account(input.account);
        refuseOtherInterface(account);
        const subscriber = { deliveryAddress: newAddress(input), eventType };
        const scope = rideApi.scopeOf(account, 'createSubscriber');
        const created = await call(account, scope, async (token) => {
          isClaimed ||= await claims.take(runOfActivity(), `createSubscriber ${generation} ${number}`);
          if (!isClaimed) return undefined;
          isUnclear = true;
          return await rideApi.createSubscriber(account, subscriber, token).catch((error: unknown) => {
            // A 503 says no (RFC 9110 section 15.6.4). If it is wrong, there is one more subscriber, and not one more ride.
            const isTurnedAway = error instanceof RideApiError && error.status === 503;
            isUnclear = effectOf(error) === 'unknown' && !isTurnedAway;
            throw error;
          });
        });
        if (created) return { kind: 'registered', ...(await toRegistration(created, input, webhooks)) };
        return await clarify(input, 'An attempt before may have asked for it');
      } catch (error) {
        if (isUnclear) return await clarify(input, error instanceof FaretrailError ? error.message : 'no answer');
        if (error instanceof ApplicationFailure && error.nonRetryable) throw error;
        const trouble = toTrouble(error, input.account);
        const message = 'An attempt broke off before its request.';
        const claim = isClaimed ? {} : { isUnclaimed: true as const };
        return { kind: 'trouble', trouble: trouble ?? { code: 'upstreamUnavailable', message }, ...claim };
      }
    },

    /** Removes a subscriber at the service, if the contract profile allows it. */
    async removeSubscriber(input: RemoveSubscriberInput): Promise<RemovalOutcome> {
      try {
        const subscriberId = input.subscriberId ?? (await find(input))?.subscriber.id ?? null;
        if (subscriberId === null) return { kind: enabled.list ? 'removed' : 'unknown', subscriberId };
        if (!enabled.delete) return { kind: 'registered', subscriberId };
        const account = ports.account(input.account);
        const scope = rideApi.scopeOf(account, 'deleteSubscriber');
        await call(account, scope, (token) => rideApi.deleteSubscriber(account, subscriberId, token));
        return { kind: 'removed', subscriberId };
      } catch (error) {
        const trouble = toTrouble(error, input.account);
        if (!trouble) throw error;
        throw plainFailure({ type: toFailureType(trouble.code), message: trouble.message });
      }
    },
  };
}

/** The subscriber without its address, and with its secret sealed for this subscription alone. */
async function toRegistration(
  { secretId, id, createdAt, updatedAt }: Subscriber,
  address: SubscriptionAddress,
  webhooks: SubscriptionActivityPorts['webhooks'],
): Promise<Registration> {
  const sealedSecret = secretId === null || !webhooks ? null : await webhooks.seal(secretId, subscriptionId(address));
  return { subscriber: { id, createdAt, updatedAt }, sealedSecret };
}

/** The documents of the service show subscriptions at the business interface only. */
function refuseOtherInterface({ name, interface: at }: Account): void {
  if (actsForCompany[at]) return;
  const message = `account: ${name} belongs to the ${at} interface; only business accounts can subscribe`;
  throw ApplicationFailure.nonRetryable(message, 'InvalidInput');
}
