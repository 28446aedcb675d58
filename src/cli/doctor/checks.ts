import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ConfigError } from '../../config.js';
import type { Account } from '../../domain/account.js';
import { FaretrailError } from '../../domain/errors.js';
import type { AccountName } from '../../domain/keys.js';
import { searchAttributeNames } from '../../domain/search-attribute-names.js';
import { connectNative, loadTemporalSettings } from '../../temporal/connection.js';
import { ensureSearchAttributes, type SearchAttributeServices } from '../../temporal/search-attributes.js';
import type { CommandContext, Session } from '../command.js';
import { toCliError } from '../failure.js';
import { accountQueue, hasWorker, mainQueue, noWorkerText, type WorkQueue } from '../workers-alive.js';

/** One line of the doctor. A message of a failed check ends with the remedy. */
export interface Check {
  name: string;
  result: 'ok' | 'failed' | 'skipped';
  message: string;
}

/** What has been found, and for whom the further checks are made. */
export interface SettingsCheck {
  checks: Check[];
  /** With their secrets; empty when these could not be read. */
  accounts: readonly Account[];
  /** Of all accounts, with or without secrets; null when the settings cannot be used at all. */
  accountNames: readonly AccountName[] | null;
}

/** Reads the settings as a worker does, with secrets; and if that fails, as the other commands do. */
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

/** The namespace and the search attributes in it. Registers nothing: that is for a worker, or for a person. */
export async function checkSearchAttributes({ connection, namespace }: Session): Promise<Check> {
  const name = 'search attributes';
  const { workflowService, operatorService } = connection;
  const services: SearchAttributeServices = {
    workflowService,
    operatorService: Object.assign(Object.create(operatorService), { addSearchAttributes: refuseToAdd }),
    withDeadline: (deadline, act) => connection.withDeadline(deadline, act),
  };
  try {
    const { checkedBy } = await ensureSearchAttributes(services, namespace);
    if (checkedBy === 'nothing') {
      return { name, result: 'skipped', message: 'this server does not show which are registered' };
    }
    return { name, result: 'ok', message: Object.values(searchAttributeNames).join(', ') };
  } catch (error) {
    return { name, result: 'failed', message: toCliError(error).message };
  }
}

const refuseToAdd = (): Promise<never> => Promise.reject(new Error('the doctor only looks'));

/**
 * Connects to Temporal once more, as a worker on this machine does. Over TLS that is another matter: a worker's library trusts the
 * CA file of the system, and that of all other processes the authorities which Node brings along.
 */
export async function checkWorkerConnection({ env, connectWithinMs }: CommandContext): Promise<Check[]> {
  if (!loadTemporalSettings(env).connectionOptions.tls) return [];
  const name = 'Temporal, as a worker';
  try {
    const { connection } = await connectNative(env, connectWithinMs === undefined ? {} : { withinMs: connectWithinMs });
    await connection.close();
    return [{ name, result: 'ok', message: 'its certificate is trusted by workers on this machine, too' }];
  } catch (error) {
    return [{ name, result: 'failed', message: toCliError(error).message }];
  }
}

/** Does a worker poll the main queue and the queue of each account? */
export async function checkWorkers(session: Session, accounts: readonly AccountName[]): Promise<Check[]> {
  const queues: [string, WorkQueue][] = [
    ['worker', mainQueue(session)],
    ...accounts.map((account): [string, WorkQueue] => [`worker for ${account}`, accountQueue(session, account)]),
  ];
  return await Promise.all(queues.map(([name, queue]) => checkWorker(session, name, queue)));
}

async function checkWorker(session: Session, name: string, queue: WorkQueue): Promise<Check> {
  try {
    return (await hasWorker(session, queue))
      ? { name, result: 'ok', message: `polls task queue ${queue.name}` }
      : { name, result: 'failed', message: noWorkerText(queue) };
  } catch (error) {
    return { name, result: 'failed', message: toCliError(error).message };
  }
}

/** Is there anything at the addresses of the accounts? No request is sent. */
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
      const message = `no connection to ${origin} (${obstacle}); check the address, the network and its certificate`;
      return { name, result: 'failed', message };
    }),
  );
}

const withinMs = 5_000;

/** Opens a TCP or, for https, a TLS connection and closes it again. Gives the system's code of what went wrong. */
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
