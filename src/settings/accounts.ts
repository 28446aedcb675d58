import type { z } from 'zod';
import { AccountEntry, AccountsFile, SecretSource } from '../contracts/accounts-file.js';
import type { Account, Cadence, Watch } from '../domain/account.js';
import { actsForCompany, type RideInterface, rideInterfaces } from '../domain/account.js';
import { type AccountName, toAccountName } from '../domain/keys.js';
import { withHidden } from '../sealing/key-ring.js';
import type { EnvReader } from './env-reader.js';

const accountsFile = 'FARETRAIL_ACCOUNTS_FILE';

/** What all may know of an account. */
export type AccountSettings = Omit<Account, 'clientSecret'>;

/** Was it read with secrets? `clientSecret` is then there, not enumerable. */
export const hasSecret = (account: AccountSettings): account is Account => 'clientSecret' in account;

/** What accounts take from the other settings. */
interface AccountDefaults {
  poll: Required<Cadence>;
  watch: Watch;
  requestsPerSecond: number;
  /** Whether this process spends credentials. When not, no secret is looked up and none is missed. */
  withSecrets: boolean;
}

/** All accounts of the environment and of the accounts file, and the variables that the file names as places of secrets; null when it could not
 *  be read. */
export function readAccounts(read: EnvReader, defaults: AccountDefaults) {
  const fromEnv = rideInterfaces.flatMap((name) => readEnvAccount(name, read, defaults));
  const file = read.text(accountsFile) === undefined ? { json: { accounts: {} } } : read.jsonFile(accountsFile);
  const fromFile = file ? readAccountsFile(file.json, read, defaults) : [];
  for (const { name } of fromFile) {
    if (fromEnv.some((other) => other.name === name))
      read.refuse(accountsFile, `accounts.${name} also comes from FARETRAIL_${name.toUpperCase()}_*; rename one`);
  }
  return { accounts: [...fromEnv, ...fromFile], secretVariables: file ? findSecretVariables(file.json) : null };
}

function readEnvAccount(name: RideInterface, read: EnvReader, defaults: AccountDefaults): AccountSettings[] {
  const prefix = `FARETRAIL_${name.toUpperCase()}`;
  const ofCompany = actsForCompany[name] ? { authUrl: 'AUTH_URL', businessId: 'ID' } : {};
  const variables: Record<string, string> = { baseUrl: 'BASE_URL', clientId: 'CLIENT_ID', ...ofCompany };
  const given = Object.entries(variables).flatMap(([field, end]) => {
    const value = read.text(`${prefix}_${end}`);
    return value === undefined ? [] : [[field, value]];
  });
  const hasSecret = read.isSecretSet(`${prefix}_CLIENT_SECRET`);
  if (given.length === 0 && !hasSecret) return [];

  const place = { clientSecret: { env: `${prefix}_CLIENT_SECRET` } };
  const entry = AccountEntry.safeParse({ interface: name, ...place, ...Object.fromEntries(given) });
  for (const { path, message } of entry.error?.issues ?? []) {
    const field = String(path[0]);
    const isGiven = given.some(([known]) => known === field);
    const problem = isGiven ? message : `missing; set it, or unset every ${prefix}_* variable`;
    read.refuse(`${prefix}_${variables[field]}`, problem);
  }
  const secret = defaults.withSecrets ? readEnvSecret(prefix, read) : undefined;
  return entry.success ? [toAccount(toAccountName(name), entry.data, defaults, secret)] : [];
}

function readEnvSecret(prefix: string, read: EnvReader): string | undefined {
  const name = `${prefix}_CLIENT_SECRET`;
  if (read.isSecretSet(name)) return read.secret(name)?.value;
  return read.refuse(name, `missing; set it or ${name}_FILE, or unset every ${prefix}_* variable`);
}

function readAccountsFile(json: unknown, read: EnvReader, defaults: AccountDefaults): AccountSettings[] {
  const file = AccountsFile.safeParse(json);
  if (file.success)
    return Object.entries(file.data.accounts).flatMap(([name, entry]) => readEntry(name, entry, read, defaults));
  refuseIssues(file.error, [], read);
  return [];
}

function readEntry(key: string, json: unknown, read: EnvReader, defaults: AccountDefaults): AccountSettings[] {
  const name = readName(key, read);
  const entry = AccountEntry.safeParse(json);
  // Looked up beside the entry, not after it, so that one run finds both an unknown field and an unset variable.
  const secret = defaults.withSecrets ? readEntrySecret(key, json, read) : undefined;
  if (!entry.success) refuseIssues(entry.error, ['accounts', key], read);
  return entry.success && name ? [toAccount(name, entry.data, defaults, secret)] : [];
}

/** What is not given comes from the other settings. */
function toAccount(
  name: AccountName,
  { clientSecret: _place, requestsPerSecond, poll, watch, untracked, ...given }: AccountEntry,
  defaults: AccountDefaults,
  secret: string | undefined,
): AccountSettings {
  const account: AccountSettings = {
    ...{ name, authUrl: given.baseUrl, ...given },
    requestsPerSecond: requestsPerSecond ?? defaults.requestsPerSecond,
    poll: { ...defaults.poll, ...poll },
    watch: {
      ...defaults.watch,
      ...watch,
      stuckAfterMs: { ...defaults.watch.stuckAfterMs, ...watch?.stuckAfterMs },
    },
    untracked: untracked ?? 'follow',
  };
  return Object.freeze(secret === undefined ? account : withHidden(account, 'clientSecret', secret));
}

function readName(key: string, read: EnvReader): AccountName | undefined {
  try {
    return toAccountName(key);
  } catch {
    return read.refuse(accountsFile, `accounts.${key}: a name must be 1 to 40 characters of a-z, 0-9 and "-"`);
  }
}

function readEntrySecret(key: string, json: unknown, read: EnvReader): string | undefined {
  const place = SecretSource.safeParse((json as { clientSecret?: unknown } | null)?.clientSecret);
  if (!place.success) return undefined; // told by the check of the entry
  const field = `${accountsFile}: accounts.${key}.clientSecret`;
  if ('file' in place.data) return read.secretFile(field, place.data.file);
  // The variable is not named: a user who puts the secret itself there must not find it in a log.
  return read.text(place.data.env, field) ?? read.refuse(field, 'the variable that "env" names is not set; set it');
}

/** Zod's messages name types, ranges and keys, never what was given. */
function refuseIssues(error: z.ZodError, at: readonly string[], read: EnvReader): void {
  for (const issue of error.issues) {
    const place = [...at, ...issue.path.map(String)].join('.');
    read.refuse(accountsFile, place === '' ? issue.message : `${place}: ${issue.message}`);
  }
}

/** Every `{"env": NAME}`, also in entries that have other faults. */
function findSecretVariables(json: unknown): Set<string> {
  const names = new Set<string>();
  JSON.stringify(json, (key, value) => {
    if (key === 'env' && typeof value === 'string') names.add(value);
    return value;
  });
  return names;
}
