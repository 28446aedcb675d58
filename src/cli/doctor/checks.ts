import { isDeepStrictEqual } from 'node:util';
import { buildConnector } from 'undici';
import { createTokenSource, TokenUnavailable } from '../../activities/token-source.js';
import type { CliConfig, ConfigError } from '../../config.js';
import { interfaceTerms } from '../../contracts/interface-terms.js';
import { isJsonObject } from '../../contracts/json.js';
import type { Account } from '../../domain/account.js';
import { FaretrailError } from '../../domain/errors.js';
import { searchAttributeNames } from '../../domain/search-attribute-names.js';
import { operationScope } from '../../ride-api/operation-request.js';
import { createSealer, SealingError } from '../../sealing/sealer.js';
import { connectNative, loadTemporalSettings } from '../../temporal/connection.js';
import { ensureSearchAttributes, type SearchAttributeServices } from '../../temporal/search-attributes.js';
import { createTokenLeases } from '../../temporal/token-leases.js';
import { inBrackets } from '../arguments.js';
import type { CommandContext, Session } from '../command.js';
import { toCliError } from '../failure.js';
import { ingressUrl, judgeIngress } from '../ingress-reachability.js';
import { accountQueue, findWatch, hasWorker, mainQueue, noWorkerText } from '../workers-alive.js';

/** One line of the doctor. The message of a failed check ends with the remedy. */
export interface Check {
  name: string;
  result: 'ok' | 'warned' | 'failed' | 'skipped';
  message: string;
}

/** A check that cannot be made from here. */
export const skipped = (name: string, why: string): Check => ({
  name,
  result: 'skipped',
  message: `not checked: ${why}`,
});

/** Makes a check of what `act` finds; an error of `act` is a failed check. */
const checked = async (name: string, act: () => Promise<Omit<Check, 'name'>>): Promise<Check> => ({
  name,
  ...(await act().catch((error: unknown) => ({ result: 'failed' as const, message: toCliError(error).message }))),
});

/** What the settings give to the further checks. */
export interface Examined {
  /** Null when the settings cannot be used at all. */
  config: CliConfig | null;
  /** With their secrets; empty when a secret could not be read. */
  accounts: readonly Account[];
  /** Is the contract profile one that is not in force? */
  isTrial: boolean;
}

/** Reads the settings as a worker does, with the client secrets; if that fails, as the other commands do. */
export function checkSettings({
  loadSettings,
  loadSettingsWithSecrets,
}: CommandContext): Omit<Examined, 'isTrial'> & { checks: Check[] } {
  const name = 'settings';
  const config = loaded(loadSettingsWithSecrets);
  if ('accounts' in config) {
    const names = config.accounts.map((account) => account.name).join(', ');
    const message = names === '' ? 'usable; no account is set here' : `usable; accounts: ${names}`;
    return { checks: [{ name, result: 'ok', message }], config, accounts: config.accounts };
  }
  const checks = config.problems.map((message): Check => ({ name, result: 'failed', message }));
  const withoutSecrets = loaded(loadSettings);
  return { checks, config: 'accounts' in withoutSecrets ? withoutSecrets : null, accounts: [] };
}

/** The settings, or why they cannot be used. */
function loaded<Settings>(load: () => Settings): Settings | Pick<ConfigError, 'problems'> {
  try {
    return load();
  } catch (error) {
    // The class itself belongs to the process files.
    if (error instanceof FaretrailError && error.code === 'ConfigError') return error as ConfigError;
    throw error;
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
export function checkContract(inForce: CommandContext, tried: CommandContext): Check[] {
  const [before, after] = [loaded(inForce.loadSettings), loaded(tried.loadSettings)];
  if (!('profile' in after)) return [];
  const fields = 'profile' in before ? differences(before.profile, after.profile) : null;
  const others = fields?.length ? `, not in force here yet; differs in ${fields.join(', ')}` : null;
  const same = fields ? ', and the same as the one that this environment has in force' : '; the one in force is not';
  return [{ name: 'contract profile', result: 'ok', message: `usable${others ?? same}` }];
}

/** The fields in which two profiles differ, by their path. Lists count as one field. */
function differences(one: unknown, other: unknown, at = ''): string[] {
  if (!isJsonObject(one) || !isJsonObject(other)) return isDeepStrictEqual(one, other) ? [] : [at];
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return names.flatMap((name) => differences(one[name], other[name], at === '' ? name : `${at}.${name}`));
}

/** Checks the namespace and its search attributes. Registers nothing: that is for a worker or an operator. */
export async function checkSearchAttributes({ connection, namespace }: Session): Promise<Check[]> {
  const { workflowService, operatorService } = connection;
  const services: SearchAttributeServices = {
    workflowService,
    operatorService: Object.assign(Object.create(operatorService), { addSearchAttributes: refuseToAdd }),
    withDeadline: (deadline, act) => connection.withDeadline(deadline, act),
  };
  const check = checked('search attributes', async () => {
    const { checkedBy } = await ensureSearchAttributes(services, namespace);
    return checkedBy === 'nothing'
      ? { result: 'skipped', message: 'this server does not show which are registered' }
      : { result: 'ok', message: Object.values(searchAttributeNames).join(', ') };
  });
  return [await check];
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
export async function checkWorkers(session: Session): Promise<Check[]> {
  const { accounts } = session.config;
  const ofAccounts = accounts.map(({ name }) => ({ name: `worker for ${name}`, queue: accountQueue(session, name) }));
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

/** Above the 10 s for which a token source waits. */
const tokenTimeoutMs = 20_000;

/** Gets a token for each account as a worker does, through the fleet's lease: a usable token is not requested again. */
export async function checkTokens(session: Session, { accounts, isTrial }: Examined): Promise<Check[]> {
  const { client, config } = session;
  const { sealingKeys } = config;
  const skip = (why: string): Check[] => [skipped('tokens', why)];
  if (isTrial) return skip('those of the fleet are of the profile in force');
  if (!(await hasWorker(session, mainQueue(session)).catch(() => false))) return skip('only a worker requests them');
  if (accounts.length === 0) return skip('no credentials are set here');
  if (!sealingKeys) return skip('FARETRAIL_SEALING_KEYS is not set here');
  const sealer = createSealer(sealingKeys);
  const leases = createTokenLeases(client, config.taskQueue);
  const credentialId = ({ clientId, clientSecret }: Account): string => sealer.keyedHash(clientId, clientSecret);
  const source = createTokenSource({ leases, unseal: sealer.unseal, credentialId });

  const checks = accounts.map(async (account): Promise<Check> => {
    const name = `token of ${account.name}`;
    const scope = operationScope(account, interfaceTerms[account.interface].readOperation, config.profile);
    const what = scope === '' ? 'without scope' : `for scope ${scope}`;
    try {
      const lease = await session.within(tokenTimeoutMs, async () => {
        await source.get(account, scope);
        return await leases.read({ account: account.name, scope, credentialId: credentialId(account) });
      });
      // The service may have rejected a token before its expiry, and then refused the renewal.
      if (lease?.failure) return { name, result: 'failed', message: `${what}: ${lease.failure.message}` };
      return { name, result: 'ok', message: `${what}, by the fleet's lease` };
    } catch (error) {
      return { name, result: 'failed', message: `${what}: ${whyNoToken(error)}` };
    }
  });
  return await Promise.all(checks);
}

function whyNoToken(error: unknown): string {
  if (error instanceof TokenUnavailable && error.code === 'upstreamUnavailable') {
    return `${error.message} Check that a worker with the same credentials and sealing keys runs, and see: faretrail token list`;
  }
  if (error instanceof SealingError) return `${error.message} (FARETRAIL_SEALING_KEYS must be those of the workers)`;
  return toCliError(error).message;
}

/** Does something take connections at the addresses of the accounts? Sends no request. */
export async function checkAddresses({ accounts }: Examined): Promise<Check[]> {
  const addresses = accounts.flatMap(({ name, baseUrl, authUrl }) => {
    const [base, auth] = [new URL(baseUrl), new URL(authUrl)];
    const ofTokens = auth.origin === base.origin ? [] : [{ name: `token URL of ${name}`, url: auth }];
    return [{ name: `base URL of ${name}`, url: base }, ...ofTokens];
  });
  const checks = addresses.map(async ({ name, url }): Promise<Check> => {
    const obstacle = await findObstacle(url);
    if (obstacle === null) return { name, result: 'ok', message: `${url.origin} takes connections` };
    const remedy = 'check the address, the network and its certificate';
    return { name, result: 'failed', message: `no connection to ${url.origin} (${obstacle}); ${remedy}` };
  });
  return await Promise.all(checks);
}

const connect = buildConnector({ timeout: 5_000, autoSelectFamilyAttemptTimeout: 1_000 }); // as calls of the service connect

/** Opens a TCP or, for https, a TLS connection and closes it. Gives the system's error code, or null when it works. */
const findObstacle = ({ protocol, host, hostname, port }: URL): Promise<string | null> =>
  new Promise((resolve) => {
    // A socket takes an IPv6 address without its brackets.
    connect({ protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port }, (error, socket) => {
      socket?.destroy();
      resolve(error && ('code' in error ? String(error.code) : error.message));
    });
  });

/** Can changes be recorded? Makes the tables where there are none, as a worker does. */
export async function checkStore({ config }: Examined): Promise<Check[]> {
  if (typeof config?.store !== 'object') return [];
  const { openStore } = await import('../../store/store.js');
  const store = openStore(config.store.url);
  const at = `PostgreSQL at ${new URL(config.store.url).host}`;
  const remedy = 'check FARETRAIL_STORE_URL, and that its user may create the schema faretrail';
  const check = await store.prepare().then(
    () => ({ result: 'ok' as const, message: `${at} takes changes` }),
    (error: unknown) => ({
      result: 'failed' as const,
      message: `${at} does not take changes${inBrackets(error)}; ${remedy}`,
    }),
  );
  await store.close();
  return [{ name: 'store', ...check }];
}

/** Does the ingress take deliveries? None runs with settings that lack its keys. */
export async function checkIngress({ config }: Examined): Promise<Check[]> {
  if (!config?.webhookKeys) return [];
  const url = ingressUrl(config);
  const message = 'FARETRAIL_INGRESS_PORT is 0, so the ingress may listen at any port; set FARETRAIL_PUBLIC_URL';
  return [{ name: 'ingress', ...(url === null ? { result: 'skipped', message } : await judgeIngress(url)) }];
}
