import { randomBytes, randomUUID } from 'node:crypto';
import { sandboxCredentials } from '../../dev/sandbox/sandbox.js';
import { jsonFile } from './json-file.js';

/** The environment of a worker process. Names are those of a deployment. */
export type WorkerEnv = Record<string, string>;

const { partner, business } = sandboxCredentials;

/** Settings of both accounts, as an accounts file has them. */
export interface AccountExtra {
  /** The name of the account at the business interface: of its own for a test whose runs have ids of production. Default `business`. */
  businessAs?: string | undefined;
  requestsPerSecond?: number | undefined;
  watch?: object | false | undefined;
}

/**
 * Settings as a deployment has them, pointing at a sandbox: both accounts, fast polls, by default a request budget
 * that no test exhausts. Task queue and sealing key are new each time, so each fleet has token leases of its own.
 */
export function workerEnv(
  sandboxUrl: string,
  extra: WorkerEnv = {},
  { businessAs = 'business', ...account }: AccountExtra = {},
): WorkerEnv {
  const shared = { baseUrl: sandboxUrl, requestsPerSecond: 1_000, ...account };
  const accounts = {
    partner: {
      ...shared,
      interface: 'partner',
      clientId: partner.clientId,
      clientSecret: { env: 'TEST_PARTNER_SECRET' },
    },
    [businessAs]: {
      ...shared,
      interface: 'business',
      clientId: business.clientId,
      clientSecret: { env: 'TEST_BUSINESS_SECRET' },
      businessId: business.businessId,
    },
  };
  return {
    FARETRAIL_ACCOUNTS_FILE: jsonFile({ accounts }),
    TEST_PARTNER_SECRET: partner.clientSecret,
    TEST_BUSINESS_SECRET: business.clientSecret,
    FARETRAIL_TASK_QUEUE: `q-${randomUUID()}`,
    FARETRAIL_SEALING_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
    FARETRAIL_POLL_ACTIVE_MS: '100',
    FARETRAIL_POLL_RESERVED_MS: '200',
    FARETRAIL_POLL_PUSHED_MS: '1000',
    FARETRAIL_LOG_LEVEL: 'warn',
    ...extra,
  };
}
