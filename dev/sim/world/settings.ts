import { loadWorkerConfig, type WorkerConfig } from '../../../src/config.js';
import { sandboxCredentials } from '../../sandbox/token/credentials.js';
import { serviceUrl } from './service.js';

const { business } = sandboxCredentials;

/** The settings of the simulated workers: one account, called `business`. `more`: further environment variables. */
export const workerConfig = (more: Record<string, string> = {}): WorkerConfig =>
  loadWorkerConfig({
    FARETRAIL_BUSINESS_BASE_URL: serviceUrl,
    FARETRAIL_BUSINESS_CLIENT_ID: business.clientId,
    FARETRAIL_BUSINESS_CLIENT_SECRET: business.clientSecret,
    FARETRAIL_BUSINESS_ID: business.businessId,
    FARETRAIL_POLL_ACTIVE_MS: '10000',
    FARETRAIL_POLL_RESERVED_MS: '300000',
    FARETRAIL_POLL_PUSHED_MS: '300000',
    FARETRAIL_TASK_QUEUE: 'rides',
    FARETRAIL_SEALING_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64url')}`,
    FARETRAIL_PUBLIC_URL: 'https://rides.example, https://elsewhere.example',
    FARETRAIL_WEBHOOK_KEYS: `w1:${Buffer.alloc(32, 2).toString('base64url')}`,
    ...more,
  });

/** The same with another budget of the account. */
export function withBudget(config: WorkerConfig, requestsPerSecond: number): WorkerConfig {
  const [account] = config.accounts;
  return withChanges(config, { accounts: [withChanges(account, { requestsPerSecond })] });
}

/** The same with a contract profile that lets workers list and delete subscribers. */
export function withManaging(config: WorkerConfig): WorkerConfig {
  const { profile } = config;
  const { operations } = profile;
  const enabled = <T extends object>(operation: T) => ({ ...operation, enabled: true });
  const managing = {
    listSubscribers: enabled(operations.listSubscribers),
    deleteSubscriber: enabled(operations.deleteSubscriber),
  };
  return withChanges(config, { profile: { ...profile, operations: { ...operations, ...managing } } });
}

/** A changed copy, with secrets, which are not enumerable. */
export const withChanges = <T extends object>(original: T, changes: Partial<T>): T =>
  Object.defineProperties({} as T, {
    ...Object.getOwnPropertyDescriptors(original),
    ...Object.getOwnPropertyDescriptors(changes),
  });
