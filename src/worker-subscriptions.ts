import type { AuthorizedCall } from './activities/index.js';
import {
  createSubscriberCalls,
  createSubscriptionActivities,
  type SubscriptionActivities,
} from './activities/index.js';
import type { WorkerConfig } from './config.js';
import type { Account } from './domain/account.js';
import type { AccountName } from './domain/keys.js';
import type { RideApi } from './ride-api/ride-api.js';
import type { KeyRing } from './sealing/key-ring.js';
import { createSealer } from './sealing/sealer.js';
import { createWebhookPaths } from './sealing/webhook-paths.js';

/** What a worker's subscriptions are made of. */
export interface WorkerSubscriptionParts {
  config: WorkerConfig;
  rideApi: RideApi;
  /** Throws a retryable failure when this process does not hold the account. */
  account(name: AccountName): Account;
  call: AuthorizedCall;
  now: () => number;
}

/** The activities that subscribe. A worker without webhook keys says so when somebody subscribes. */
export function createWorkerSubscriptions(parts: WorkerSubscriptionParts): SubscriptionActivities {
  const { config, account, now } = parts;
  const { listSubscribers, deleteSubscriber } = config.profile.operations;
  const calls = createSubscriberCalls({
    ...parts,
    webhooks: config.webhookKeys && createWebhookSecrets(config.webhookKeys),
    enabled: { list: listSubscribers.enabled !== false, delete: deleteSubscriber.enabled !== false },
  });
  return createSubscriptionActivities({ account, calls, longestWaitMs: config.retryAfterMaxMs, now });
}

function createWebhookSecrets(keys: KeyRing) {
  const sealer = createSealer(keys);
  const { pathOf } = createWebhookPaths(keys);
  return { pathOf, seal: (secretId: string, context: string) => sealer.seal(secretId, context) };
}
