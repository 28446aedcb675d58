import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { Client } from 'pg';
import { asShown, paint, tableText } from '../../src/cli/text.js';
import { FaretrailError } from '../../src/domain/errors.js';
import { onSignal } from '../../src/run-process.js';
import { connectClient } from '../../src/temporal/connection.js';
import { startSandbox } from '../sandbox/sandbox.js';
import { startPostgres } from './postgres/postgres.js';
import { claimFolder, placeJournal } from './run/folder.js';
import { dropOwnSettings, readLocalEnv, writeLocalEnv } from './run/local-env.js';
import { type LocalProcess, startLocalProcess } from './run/process-child.js';
import { findFault, followSamples, showLive, stepMs } from './run/sample-rides.js';
import { givenSettings, localSettings } from './run/settings.js';
import { subscribeToAll } from './run/subscriptions.js';
import { type LocalTemporal, startTemporal } from './run/temporal.js';
import { usualOrFreePort } from './temporal/free-port.js';
import { projectRoot } from './temporal/project-root.js';

const folder = join(projectRoot, '.faretrail');
const settingsFile = join(folder, 'local.env');
const say = (line: string) => console.log(asShown(line, process.stdout.isTTY, process.env.NO_COLOR));
const inProject = (file: string) => file.slice(projectRoot.length + 1);
const heading = (text: string) => say(`\n${paint('strong', text)}`);

const usualIngressPort = 8480;

/** Everything that runs, in the order of its start. The stop is in reverse order. */
const running: { stop(): Promise<void> }[] = [];
let stopped: Promise<void> | undefined;

interface Flags {
  once: boolean;
  store: boolean;
}

function readFlags(argv: string[]): Flags {
  return new Command('npm start --')
    .description(
      'Runs Temporal with its UI, a sandbox of the service, the worker and the ingress, subscribes, and follows sample orders\n' +
        'of both interfaces.\n' +
        'Accounts whose FARETRAIL_* credentials are set are real; the sandbox stands in for the others. With a real\n' +
        'account orders are read as often as in production, and there are no sample orders.',
    )
    .option('--once', 'exit when the sample orders have ended: 0 if they ended as they should, otherwise 1', false)
    .option('--store', 'record changes in a PostgreSQL of its own, new with each start', false)
    .allowExcessArguments(false)
    .exitOverride()
    .parse(argv)
    .opts<Flags>();
}

async function main(): Promise<void> {
  const { once, store: withStore } = readFlags(process.argv);
  heading('faretrail, local stack');
  const claimed = await claimFolder(folder);
  running.push({ stop: claimed.release });
  if (dropOwnSettings(process.env) > 0)
    say(`shell     has loaded ${inProject(settingsFile)}, whose settings do not count`);
  const temporal = await startTemporal(folder, say);
  running.push(temporal);
  say(`Temporal  ${temporal.address}`);
  say(`UI        ${temporal.uiUrl ?? 'see your own server'}`);
  const sandbox = await startSandbox();
  running.push({ stop: () => sandbox.close() });
  const ingressPort = await usualOrFreePort(usualIngressPort);
  const before = readLocalEnv(settingsFile);
  const { env, sandboxed, isAllSandboxed } = localSettings({ sandbox, ingressPort, before });
  const areKeysKept = env.FARETRAIL_WEBHOOK_KEYS === before.FARETRAIL_WEBHOOK_KEYS;
  env.FARETRAIL_JOURNAL_DIR = placeJournal(folder, before.FARETRAIL_JOURNAL_DIR, areKeysKept);
  say(`sandbox   ${sandbox.url}, for: ${sandboxed.join(', ') || 'no account'}`);
  if (!isAllSandboxed)
    say('reads     as often as in production, since an account is real; FARETRAIL_POLL_* changes that');
  if (withStore) env.FARETRAIL_STORE_URL = await startStore();
  else if (process.env.FARETRAIL_STORE_URL_FILE) say('store     yours, in FARETRAIL_STORE_URL_FILE');
  else if (process.env.FARETRAIL_STORE_URL) say('store     yours, in FARETRAIL_STORE_URL');
  const settings = { ...env, ...givenSettings(), TEMPORAL_ADDRESS: temporal.address, TZ: 'UTC' };
  const worker = await startLocalProcess('worker', settings, folder);
  running.push(worker);
  say(`worker    log in ${inProject(worker.logFile)}`);
  const ingress = await startLocalProcess('ingress', settings, folder);
  running.push(ingress);
  say(`ingress   http://127.0.0.1:${ingressPort}, log in ${inProject(ingress.logFile)}`);
  if (!isAllSandboxed) say(`public    ${env.FARETRAIL_PUBLIC_URL}; FARETRAIL_PUBLIC_URL changes that`);
  const urls = {
    UI: temporal.uiUrl ?? temporal.address,
    sandbox: sandbox.url,
    ingress: `http://127.0.0.1:${ingressPort}`,
  };
  claimed.note([temporal.pid ?? [], worker.pid, ingress.pid].flat(), urls);
  const hasFailed = Promise.race([worker, ingress].map(failureOf));
  const isWell = await Promise.race([followAll({ sandbox, isAllSandboxed, temporal, settings }), hasFailed]);
  if (once) return await exit(isWell ? 0 : 1);
  writeLocalEnv(settingsFile, { ...env, TEMPORAL_ADDRESS: temporal.address });
  sayHowToGoOn(temporal, worker);
  await hasFailed;
}

/** Rejects when the process ends by itself. */
async function failureOf({ name, ended, howEnded, logFile }: LocalProcess): Promise<never> {
  await ended;
  if (stopped !== undefined) return await new Promise(() => undefined);
  throw new FaretrailError('ProcessEnded', `the ${name} ${howEnded()}; its log: ${inProject(logFile)}`);
}

/** Its data is in a folder that the user of PostgreSQL can reach. Returns the address. */
async function startStore(): Promise<string> {
  const own = process.umask(0o022); // the server may run as another user
  const data = mkdtempSync(join(tmpdir(), 'faretrail-store-'));
  running.push({ stop: async () => rmSync(data, { recursive: true, force: true }) });
  const server = await startPostgres(data, say).finally(() => process.umask(own));
  running.push(server);
  say(`store     PostgreSQL at 127.0.0.1:${server.port}, schema faretrail`);
  return server.url;
}

interface Stage {
  sandbox: Awaited<ReturnType<typeof startSandbox>>;
  isAllSandboxed: boolean;
  temporal: LocalTemporal;
  settings: Record<string, string>;
}

async function followAll({ sandbox, isAllSandboxed, temporal, settings }: Stage): Promise<boolean> {
  const { client, connection } = await connectClient({ ...process.env, TEMPORAL_ADDRESS: temporal.address });
  running.push({ stop: () => connection.close() });
  const { FARETRAIL_TASK_QUEUE: taskQueue = 'faretrail', FARETRAIL_PUBLIC_URL: publicUrl = '' } = settings;
  if (!isAllSandboxed) {
    say(
      'An account is real: there are no sample orders. Ask the service first: npm run starter -- probe ACCOUNT ORDER',
    );
    say('Then follow an order of yours: npm run starter -- order follow ACCOUNT ORDER --watch');
    return true;
  }
  await subscribeToAll(client, { taskQueue, publicUrl });
  say('subscribed account business: changes of its orders are delivered; those of partner are found by reads');
  heading(`Sample orders, a step every ${stepMs / 1_000} seconds (times in UTC)`);
  const rides = await followSamples(sandbox, client, taskQueue);
  const trails = await Promise.all(rides.map((ride) => showLive(ride, say)));
  const results = rides.map((ride, index) => {
    const trail = trails[index];
    const fault = trail ? findFault(ride, trail) : 'no trail';
    return { ride, trail, fault };
  });
  heading('How they ended');
  const rows = results.map(({ ride, trail, fault }) => [
    ride.orderId,
    ride.name,
    trail?.timeline.map(({ status }) => status).join(' > ') ?? '',
    fault === null ? paint('good', trail?.outcome ?? '') : paint('bad', fault),
  ]);
  say(tableText(['order', 'what', 'timeline', 'outcome'], rows));
  const deliveries = trails.reduce((sum, trail) => sum + trail.deliveries.received, 0);
  say(`Deliveries that reached orders: ${deliveries}`);
  const { byOperation } = sandbox.counts();
  say(
    `Calls at the sandbox: ${Object.entries(byOperation)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}`,
  );
  if (settings.FARETRAIL_STORE_URL) say(`Rows in the store: ${await countRows(settings.FARETRAIL_STORE_URL)}`);
  return results.every(({ fault }) => fault === null);
}

async function countRows(url: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const counted = ['orders', 'order_changes', 'rides', 'receipts'].map(
    (table) => `(select count(*)::int from faretrail.${table}) as "${table}"`,
  );
  const { rows } = await client.query<Record<string, number>>(`select ${counted.join(', ')}`);
  await client.end();
  return Object.entries(rows[0] ?? {})
    .map(([table, count]) => `${table.replace('_', ' ')} ${count}`)
    .join(', ');
}

function sayHowToGoOn({ uiUrl }: LocalTemporal, { logFile }: LocalProcess): void {
  heading('Still running. Try, in another terminal:');
  say(`  set -a; . ${inProject(settingsFile)}; set +a`);
  say('  npm run starter -- order list');
  say('  npm run starter -- subscription list');
  say('  npm run starter -- delivery send business status_changed --order 42 --status Confirmed');
  say(`  tail -f ${inProject(logFile)}`);
  if (uiUrl) say(`  open ${uiUrl}`);
  say('Ctrl-C stops it.');
}

function stopAll(): Promise<void> {
  stopped ??= (async () => {
    for (const part of running.reverse()) await part.stop();
  })();
  return stopped;
}

async function exit(code: number): Promise<never> {
  await stopAll();
  process.exit(code);
}

onSignal(['SIGINT', 'SIGTERM'], (signal) => {
  say('\nstopping all that it started');
  void exit(signal === 'SIGINT' ? 130 : 143);
});

main().catch((error: unknown) => {
  if (stopped !== undefined) return; // later failures are a result of the stop
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2); // commander has printed the error
  console.error(error instanceof FaretrailError ? error.message : error);
  void exit(1);
});
