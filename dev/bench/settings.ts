import { randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cadence } from '../../src/domain/account.js';
import { sandboxCredentials } from '../sandbox/sandbox.js';

export interface BenchSettings {
  /** The folder for files. */
  folder: string;
  sandboxUrl: string;
  /** Default: the default cadence of a deployment. */
  cadence?: Cadence;
  /** The budget of each account. Default: no bench or suite asks for as much. */
  requestsPerSecond?: number;
  /** Accounts at the partner interface besides the usual two. */
  moreAccounts?: number;
}

/** The same pace in all phases of an order. */
export const pollEvery = (ms: number): Cadence => ({ activeMs: ms, reservedMs: ms, pushedMs: ms });

/** No poll within a bench. */
export const noPolls = pollEvery(3_600_000);

/** The names of such accounts. */
export const moreAccountNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `partner-${index + 1}`);

const { partner, business } = sandboxCredentials;
/** More than two cores can send, so that the account's rate limit delays no call. */
const unlimited = 1_000;

/** The environment of a worker with one account at each interface and its own task queue. */
export function workerEnv(settings: BenchSettings): Record<string, string> {
  const { folder, sandboxUrl: baseUrl, cadence, requestsPerSecond = unlimited, moreAccounts = 0 } = settings;
  const accountsFile = join(folder, `accounts-${randomUUID()}.json`);
  const clientSecret = (name: string) => ({ env: `BENCH_${name}_SECRET` });
  const shared = { baseUrl, requestsPerSecond, ...(cadence && { poll: cadence }) };
  const atPartner = {
    ...shared,
    interface: 'partner',
    clientId: partner.clientId,
    clientSecret: clientSecret('PARTNER'),
  };
  const accounts = {
    partner: atPartner,
    ...Object.fromEntries(moreAccountNames(moreAccounts).map((name) => [name, atPartner])),
    business: {
      ...shared,
      interface: 'business',
      clientId: business.clientId,
      clientSecret: clientSecret('BUSINESS'),
      businessId: business.businessId,
    },
  };
  writeFileSync(accountsFile, JSON.stringify({ accounts }));
  return {
    FARETRAIL_ACCOUNTS_FILE: accountsFile,
    BENCH_PARTNER_SECRET: partner.clientSecret,
    BENCH_BUSINESS_SECRET: business.clientSecret,
    FARETRAIL_TASK_QUEUE: `bench-${randomUUID()}`,
    FARETRAIL_SEALING_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
    FARETRAIL_LOG_LEVEL: 'warn',
  };
}
