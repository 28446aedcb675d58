import { randomBytes } from 'node:crypto';
import { type RideInterface, rideInterfaces } from '../../../src/domain/account.js';
import { type Sandbox, sandboxCredentials } from '../../sandbox/sandbox.js';

/** The settings of the local worker and CLI, and the interfaces that the sandbox serves. */
export interface LocalSettings {
  env: Record<string, string>;
  sandboxed: RideInterface[];
  /** Is every account the sandbox's? Only then are orders read faster than in production. */
  isAllSandboxed: boolean;
}

/** The parts of the stack that the settings name. */
export interface LocalParts {
  sandbox: Sandbox;
  ingressPort: number;
  /** What the stack wrote down when it ran before. */
  before?: Readonly<Record<string, string | undefined>>;
}

const { partner, business } = sandboxCredentials;

/** Rides of the sandbox take seconds, so slow polls would miss many changes. */
const sandboxPace = {
  FARETRAIL_POLL_ACTIVE_MS: '500',
  FARETRAIL_POLL_RESERVED_MS: '1000',
  FARETRAIL_POLL_PUSHED_MS: '2000',
};

const newKey = (): string => `local:${randomBytes(32).toString('base64url')}`;

/** The environment. An empty variable counts as not set. */
export const givenSettings = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => Boolean(entry[1])));

/** Takes credentials from the environment. The sandbox serves each account without credentials there. */
export function localSettings({ sandbox, ingressPort, before = {} }: LocalParts): LocalSettings {
  const given = givenSettings();
  const hasAccountsFile = Boolean(given.FARETRAIL_ACCOUNTS_FILE);
  const isGiven = (prefix: string) => hasAccountsFile || Object.keys(given).some((name) => name.startsWith(prefix));
  const sandboxed: RideInterface[] = [];
  const env: Record<string, string> = {
    FARETRAIL_INGRESS_PORT: String(ingressPort),
    // A real service cannot reach this machine at the default, so commands in another terminal have to find what was set here.
    FARETRAIL_PUBLIC_URL: given.FARETRAIL_PUBLIC_URL ?? `http://127.0.0.1:${ingressPort}`,
  };
  if (!isGiven('FARETRAIL_PARTNER_')) {
    sandboxed.push('partner');
    env.FARETRAIL_PARTNER_BASE_URL = sandbox.url;
    env.FARETRAIL_PARTNER_CLIENT_ID = partner.clientId;
    env.FARETRAIL_PARTNER_CLIENT_SECRET = partner.clientSecret;
  }
  if (!isGiven('FARETRAIL_BUSINESS_')) {
    sandboxed.push('business');
    env.FARETRAIL_BUSINESS_BASE_URL = sandbox.url;
    env.FARETRAIL_BUSINESS_CLIENT_ID = business.clientId;
    env.FARETRAIL_BUSINESS_CLIENT_SECRET = business.clientSecret;
    env.FARETRAIL_BUSINESS_ID = business.businessId;
  }
  const isAllSandboxed = sandboxed.length === rideInterfaces.length;
  // A new key each time, and so new token leases, since the sandbox loses its tokens and subscribers when it stops. A real service keeps them.
  for (const name of ['FARETRAIL_SEALING_KEYS', 'FARETRAIL_WEBHOOK_KEYS'])
    env[name] = given[name] ?? (isAllSandboxed ? undefined : before[name]) ?? newKey();
  return { env: isAllSandboxed ? { ...env, ...sandboxPace } : env, sandboxed, isAllSandboxed };
}
