import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { ConfigError } from '../../config.js';
import type { ContractProfile } from '../../contracts/contract-profile.js';
import { isJsonObject } from '../../contracts/json.js';
import type { Account } from '../../domain/account.js';
import { FaretrailError } from '../../domain/errors.js';
import { type AccountName, type Scope, toScope } from '../../domain/keys.js';
import { searchAttributeNames } from '../../domain/search-attribute-names.js';
import { createRideApi } from '../../ride-api/ride-api.js';
import { connectNative, loadTemporalSettings } from '../../temporal/connection.js';
import { ensureSearchAttributes, type SearchAttributeServices } from '../../temporal/search-attributes.js';
import type { CommandContext, Session } from '../command.js';
import { toCliError } from '../failure.js';
import { accountQueue, findWatch, hasWorker, mainQueue, noWorkerText } from '../workers-alive.js';

/** One line of the doctor. The message of a failed check ends with the remedy. */
export interface Check {
  name: string;
  result: 'ok' | 'warned' | 'failed' | 'skipped';
  message: string;
}

/** Makes a check of what `act` finds; an error of `act` is a failed check. */
const checked = async (name: string, act: () => Promise<Omit<Check, 'name'>>): Promise<Check> => ({
  name,
  ...(await act().catch((error: unknown) => ({ result: 'failed' as const, message: toCliError(error).message }))),
});

/** Can changes be recorded? Makes the tables where there are none, as a worker does. */
export const checkStore = (url: string): Promise<Check> =>
  checked('store', async () => {
    const { openStore } = await import('../../store/store.js');
    const store = openStore(url);
    const { host } = new URL(url);
    try {
      await store.prepare();
      return { result: 'ok', message: `PostgreSQL at ${host} takes changes` };
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      const remedy = 'check FARETRAIL_STORE_URL, and that its user may create the schema faretrail';
      return { result: 'failed', message: `PostgreSQL at ${host} does not take changes${code}; ${remedy}` };
    } finally {
      await store.close();
    }
  });

/** The checks of the settings, and the accounts for the further checks. */
export interface SettingsCheck {
  checks: Check[];
  /** With their secrets; empty when a secret could not be read. */
  accounts: readonly Account[];
  /** Of all accounts, even when a secret could not be read; null when the settings cannot be used at all. */
  accountNames: readonly AccountName[] | null;
}

/** Reads the settings as a worker does, with the client secrets; if that fails, as the other commands do. */
export function checkSettings(context: CommandContext): SettingsCheck {
  try {
    const { accounts } = context.loadSettingsWithSecrets();
    const names = accounts.map(({ name }) => name);
    const message = names.length === 0 ? 'usable; no account is set here' : `usable; accounts: ${names.join(', ')}`;
    return { checks: [{ name: 'settings', result: 'ok', message }], accounts, accountNames: names };
  } catch (error) {
    if (!isConfigError(error)) throw error;
    const checks = error.problems.map((message): Check => ({ name: 'settings', result: 'failed', message }));
    return { checks, accounts: [], accountNames: namesWithoutSecrets(context) };
  }
}

/** The lines of Node that get security releases, and until when (the release schedule of Node). */
const nodeLines: Readonly<Record<string, string>> = { 22: '2027-04-30', 24: '2028-04-30', 26: '2029-04-30' };
const newestKnownLine = Math.max(...Object.keys(nodeLines).map(Number));

/** Does this Node still get security releases? That is a warning alone: nothing fails because of it yet. */
export function checkNode(version = process.versions.node, now = Date.now()): Check {
  const name = 'Node';
  const [line = ''] = version.split('.');
  const until = nodeLines[line];
  if (Number(line) > newestKnownLine) return { name, result: 'ok', message: version };
  if (until !== undefined && now < Date.parse(until))
    return { name, result: 'ok', message: `${version}, with security releases until ${until}` };
  const message = `${version} gets no security releases any more; run a newer line, such as that of the image`;
  return { name, result: 'warned', message };
}

const contractSetting = 'FARETRAIL_CONTRACT_FILE';

/** The same command with a contract profile that is not in force. */
export function withContract(context: CommandContext, file: string): CommandContext {
  const over = { [contractSetting]: file };
  return {
    ...context,
    loadSettings: () => context.loadSettings(over),
    loadSettingsWithSecrets: () => context.loadSettingsWithSecrets(over),
    inTheirWords: (message) => context.inTheirWords(message).replaceAll(contractSetting, '--contract'),
  };
}

/** Says in which fields a profile differs from the one in force. None where the settings cannot be used: the settings then say why. */
export function checkContract(context: CommandContext, tried: CommandContext): Check[] {
  const name = 'contract profile';
  const [inForce, profile] = [context, tried].map((one) => {
    try {
      return one.loadSettings().profile;
    } catch (error) {
      if (isConfigError(error)) return null;
      throw error;
    }
  });
  if (!profile) return [];
  const fields = inForce ? differences(inForce, profile) : null;
  if (fields === null) return [{ name, result: 'ok', message: 'usable; the one in force is not' }];
  const message =
    fields.length === 0
      ? 'usable, and the same as the one that this environment has in force'
      : `usable, not in force here yet; differs in ${fields.join(', ')}`;
  return [{ name, result: 'ok', message }];
}

/** The fields in which two profiles differ, by their path. Lists count as one field. */
function differences(one: unknown, other: unknown, at = ''): string[] {
  if (!isJsonObject(one) || !isJsonObject(other)) return isDeepStrictEqual(one, other) ? [] : [at];
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return names.flatMap((name) => differences(one[name], other[name], at === '' ? name : `${at}.${name}`));
}

// The class itself belongs to the process files.
const isConfigError = (error: unknown): error is ConfigError =>
  error instanceof FaretrailError && error.code === 'ConfigError';

function namesWithoutSecrets(context: CommandContext): AccountName[] | null {
  try {
    return context.loadSettings().accounts.map(({ name }) => name);
  } catch (error) {
    if (isConfigError(error)) return null;
    throw error;
  }
}

/** Checks the namespace and its search attributes. Registers nothing: that is for a worker or an operator. */
export async function checkSearchAttributes({ connection, namespace }: Session): Promise<Check> {
  const { workflowService, operatorService } = connection;
  const services: SearchAttributeServices = {
    workflowService,
    operatorService: Object.assign(Object.create(operatorService), { addSearchAttributes: refuseToAdd }),
    withDeadline: (deadline, act) => connection.withDeadline(deadline, act),
  };
  return await checked('search attributes', async () => {
    const { checkedBy } = await ensureSearchAttributes(services, namespace);
    return checkedBy === 'nothing'
      ? { result: 'skipped', message: 'this server does not show which are registered' }
      : { result: 'ok', message: Object.values(searchAttributeNames).join(', ') };
  });
}

const refuseToAdd = (): Promise<never> => Promise.reject(new Error('the doctor registers nothing'));

/** Connects to Temporal as a worker on this machine does. Over TLS the result may differ: the library of a worker trusts the CA file
 *  of the system, that of the other processes the authorities that come with Node. */
export async function checkWorkerConnection({ env, connectWithinMs }: CommandContext): Promise<Check[]> {
  if (!loadTemporalSettings(env).connectionOptions.tls) return [];
  const check = checked('Temporal, as a worker', async () => {
    const { connection } = await connectNative(env, connectWithinMs === undefined ? {} : { withinMs: connectWithinMs });
    await connection.close();
    return { result: 'ok', message: 'its certificate is trusted by workers on this machine, too' };
  });
  return [await check];
}

/** Does a worker poll the main queue and the queue of each account? */
export async function checkWorkers(session: Session, accounts: readonly AccountName[]): Promise<Check[]> {
  const ofAccounts = accounts.map((one) => ({ name: `worker for ${one}`, queue: accountQueue(session, one) }));
  const checks = [{ name: 'worker', queue: mainQueue(session) }, ...ofAccounts].map(({ name, queue }) =>
    checked(name, async () =>
      (await hasWorker(session, queue))
        ? { result: 'ok', message: `polls task queue ${queue.name}` }
        : { result: 'failed', message: noWorkerText(queue) },
    ),
  );
  return await Promise.all(checks);
}

/** Beyond its fair share of the budget no order should be that late. */
const lateMs = 60_000;

/** Does a worker poll the live orders of each account, and in time? */
export async function checkWatches(session: Session): Promise<Check[]> {
  const checks = session.config.accounts.map(({ name, requestsPerSecond }) =>
    checked(`watch of ${name}`, async () => {
      const watch = await findWatch(session, name);
      if (typeof watch === 'string') return { result: 'failed', message: watch };
      if (watch === null) return { result: 'ok', message: 'no live order' };
      const { worker, pulse } = watch;
      // Encrypted for a reader without keys, or the worker has just taken it.
      if (pulse === null) return { result: 'ok', message: `polled by ${worker}` };
      const late = `${Math.round(pulse.lateMs / 1_000)} s late`;
      const message = `orders: ${pulse.orders}, polled by ${worker}, the latest ${late}`;
      const isLate = pulse.lateMs > lateMs + (pulse.orders / requestsPerSecond) * 1_000;
      return isLate ? { result: 'warned', message: `${message}; ${lateRemedy}` } : { result: 'ok', message };
    }),
  );
  return await Promise.all(checks);
}

const lateRemedy =
  'unless attention shows trouble of the account, its budget is used up: raise requestsPerSecond, or slow the polls (poll)';

/** Does something take connections at the addresses of the accounts? Sends no request. */
export async function checkAddresses(accounts: readonly Account[]): Promise<Check[]> {
  const addresses = accounts.flatMap(({ name, baseUrl, authUrl }) => [
    { name: `base URL of ${name}`, url: baseUrl },
    ...(new URL(authUrl).origin === new URL(baseUrl).origin ? [] : [{ name: `token URL of ${name}`, url: authUrl }]),
  ]);
  return await Promise.all(
    addresses.map(async ({ name, url }): Promise<Check> => {
      const { origin } = new URL(url);
      const obstacle = await findObstacle(url);
      if (obstacle === null) return { name, result: 'ok', message: `${origin} takes connections` };
      const remedy = 'check the address, the network and its certificate';
      return { name, result: 'failed', message: `no connection to ${origin} (${obstacle}); ${remedy}` };
    }),
  );
}

/** Requests a token for each scope of each account from the service, one after the other, in the form that the profile says. */
export async function checkScopes(accounts: readonly Account[], profile: ContractProfile): Promise<Check[]> {
  const rideApi = createRideApi({ profile });
  const checks: Check[] = [];
  for (const account of accounts) {
    for (const scope of scopesOf(account, profile)) {
      const what = scope === '' ? 'without scope' : `for scope ${scope}`;
      const found = await rideApi.requestToken(account, scope).then(
        () => ({ result: 'ok' as const, message: `${what}: the service grants it` }),
        (error: unknown) => ({ result: 'failed' as const, message: `${what}: ${toCliError(error).message}` }),
      );
      checks.push({ name: `token of ${account.name}`, ...found });
    }
  }
  await rideApi.close();
  return checks;
}

/** The scopes of all operations that this account can ask for. */
function scopesOf(account: Account, { operations }: ContractProfile): Scope[] {
  const offered = Object.values(operations).filter(
    (one) => one.interface === account.interface && one.enabled !== false,
  );
  return [...new Set(offered.map(({ scope }) => toScope(scope)))];
}

const withinMs = 5_000;

/** Opens a TCP or, for https, a TLS connection and closes it. Gives the system's error code, or null when it works. */
function findObstacle(url: string): Promise<string | null> {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isTls = protocol === 'https:';
  const at = { host, port: Number(port) || (isTls ? 443 : 80) };
  return new Promise((resolve) => {
    const finish = (obstacle: string | null): void => {
      socket.destroy();
      resolve(obstacle);
    };
    const open = (): void => finish(null);
    const socket = isTls
      ? connectTls({ ...at, ...(isIP(host) === 0 ? { servername: host } : {}) }, open)
      : connectTcp(at, open);
    socket.setTimeout(withinMs, () => finish('no answer'));
    socket.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
  });
}
