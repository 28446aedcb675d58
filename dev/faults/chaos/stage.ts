import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { promptConnectionOptions } from '../../../src/temporal/connection.js';
import { loadTemporalSettings } from '../../../src/temporal/settings.js';
import { workerEnv } from '../../bench/settings.js';
import { controlSandbox, type SandboxControl } from '../../sandbox/control/client.js';
import { nodeArgs } from '../../stack/run/node-args.js';
import { answersAt } from '../../stack/run/until.js';
import { freePorts } from '../../stack/temporal/free-port.js';
import { projectRoot } from '../../stack/temporal/project-root.js';
import { type Changeable, createChangeable, makeFirstCurrent } from './deployment.js';
import { type Disk, openDisk } from './disk.js';
import { createForger, type Forger } from './forger.js';
import { createMember, type Member, whenUp } from './member.js';
import {
  type Deployment,
  type ProcessName,
  plainDeployment,
  type ReceiverName,
  type WorkerName,
  workerNames,
} from './plan.js';
import { anchorIds } from './plan-work.js';
import { openReceivers, type Receiver } from './receivers.js';
import { type Relay, startRelay } from './relay.js';
import { openStoreSite, type StoreSite } from './store-site.js';
import { createStranger, type Stranger } from './strangers.js';
import { openDevServer, type TemporalSite } from './temporal-member.js';

/** A whole deployment on this machine, and its clients. */
export interface Stage {
  /** Its processes by name: with a development server none of `clusterNames`, with a cluster no `temporal`. */
  members: Readonly<Record<ProcessName, Member>>;
  /** By which each worker reaches Temporal. */
  wires: Record<WorkerName, Relay>;
  sandbox: SandboxControl;
  receivers: Record<ReceiverName, Receiver>;
  stranger: Stranger;
  forger: Forger;
  /** Of the journal. */
  disk: Disk;
  /** Null: the deployment has none. */
  store: StoreSite | null;
  changeable: Changeable;
  deployment: Deployment;
  client: Client;
  /** `host:port` of Temporal. */
  address: string;
  taskQueue: string;
  /** The public URL of the subscription. */
  publicUrl: string;
  /** Where our processes serve their metrics. */
  metricsUrls: Record<'worker-1' | 'worker-2' | 'ingress', string>;
  /** The metrics of a process; null while it is not up. */
  metrics(name: keyof Stage['metricsUrls']): Promise<string | null>;
  /** All that Temporal has stored. */
  readDatabase(): Promise<Buffer>;
  /** Secrets of the settings, by name. No text may hold them. */
  settingSecrets: Record<string, string>;
  tokenLifetimeMs: number;
  /** The budget of each account; undefined: more than the suite asks for. */
  requestsPerSecond: number | undefined;
  /** Holds all files of the deployment. */
  folder: string;
  /** Does the folder stay after `close`? */
  keeps: boolean;
  close(): Promise<void>;
}

export interface StageOptions {
  /** Starts Temporal, with its files in the folder. */
  openTemporal(folder: string): Promise<TemporalSite>;
  tokenLifetimeSeconds: number;
  /** Default: a plain one. */
  deployment?: Deployment;
  /** The budget of each account. Default: more than the suite asks for. */
  requestsPerSecond?: number;
  /** Of the sandbox; it draws the header of the proof. Default 1. */
  seed?: number;
  /** Gives the address under which one side reaches the other, both as `host:port`. Default: the address itself. */
  route?: (link: Link, address: string) => Promise<string>;
  /** Further settings of all our processes. */
  env?: Record<string, string>;
}

/** The connections of a deployment, each named after the side that opens it. */
export const links = ['worker to service', 'worker to Temporal', 'ingress to Temporal', 'service to ingress'] as const;
export type Link = (typeof links)[number];

/** Speeds up the sandbox so that an order takes seconds. */
const speed = 120;
const upWithinMs = 120_000;
const cadence = { activeMs: 1_000, reservedMs: 2_000, pushedMs: 5_000 };
/** The sandbox makes one order of all creates with the same id. */
const profile = { operations: { createOrder: { repeatable: true } } };
/** Of each delivery. At the sandbox's speed the pauses grow from half a second to a quarter of a minute. */
const retries = 10;

/** The judge reads whole histories, and hostile messages are long. */
const channelArgs = { ...promptConnectionOptions.channelArgs, 'grpc.max_receive_message_length': 134_217_728 };

const newKey = (): string => `k1:${randomBytes(32).toString('base64url')}`;

/** Starts the deployment with a development server. Needs a compiled checkout. */
export const openStage = ({
  temporalProgram,
  ...options
}: Omit<StageOptions, 'openTemporal'> & { temporalProgram: string }) =>
  openStageOn({ openTemporal: openDevServer(temporalProgram), ...options });

/** Starts the deployment with Temporal as given. */
export async function openStageOn({
  openTemporal,
  deployment = plainDeployment,
  requestsPerSecond,
  route = async (_link, address) => address,
  ...options
}: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-chaos-'));
  const temporal = await openTemporal(folder);
  const [sandboxPort, ingressPort, ...metricsPorts] = await freePorts(4);
  const notifySecret = randomBytes(32);
  const receivers = await openReceivers(notifySecret);
  const disk = await openDisk(join(folder, 'journal'));
  const store = deployment.stores ? await openStoreSite() : null;
  const changeable = createChangeable(folder, profile, deployment);
  const reached = (link: Link, port: number | undefined) => route(link, `127.0.0.1:${port}`);
  const { address } = temporal;
  const workersTo = await route('worker to Temporal', address);
  const env: Record<string, string> = {
    ...settings({ folder, sandboxUrl: `http://${await reached('worker to service', sandboxPort)}`, requestsPerSecond }),
    TEMPORAL_ADDRESS: workersTo,
    ...changeable.env,
    ...(store && { FARETRAIL_STORE_URL: store.url }),
    ...notifySettings(receivers, notifySecret),
    ...options.env,
  };
  const ingressEnv = { ...env, TEMPORAL_ADDRESS: await route('ingress to Temporal', address) };
  const ports = { sandbox: sandboxPort, ingress: ingressPort, metrics: metricsPorts };
  const wires = {
    'worker-1': await startRelay([workersTo]),
    'worker-2': await startRelay([workersTo]),
  };
  const ours = createMembers({ folder, seed: options.seed ?? 1, env, ingressEnv, ports, disk, changeable, wires });
  const members = [...ours, ...temporal.members];
  const control = controlSandbox(urlAt(sandboxPort));
  const connection = Connection.lazy({ address, ...promptConnectionOptions, channelArgs });
  const client = new Client({ connection, dataConverter: converterFor(changeable.payloadKeys) });
  const byName = Object.fromEntries(members.map((member) => [member.name, member])) as Stage['members'];
  await startAll(byName, async () => await prepareSandbox(control, options.tokenLifetimeSeconds));
  if (deployment.versioned) await makeFirstCurrent(client);
  const metricsUrls = metricsUrlsOf(ports);
  const stage: Stage = {
    members: byName,
    wires,
    sandbox: control,
    receivers,
    stranger: createStranger(control),
    forger: createForger(control),
    disk,
    store,
    changeable,
    deployment,
    client,
    address,
    taskQueue: env.FARETRAIL_TASK_QUEUE ?? '',
    publicUrl: `http://${await reached('service to ingress', ingressPort)}`,
    metricsUrls,
    metrics: (name) => textAt(`${metricsUrls[name]}/metrics`),
    readDatabase: temporal.readDatabase,
    settingSecrets: secretsOf({ env, store, changeable }),
    tokenLifetimeMs: options.tokenLifetimeSeconds * 1_000,
    requestsPerSecond,
    folder,
    keeps: false,
    async close() {
      // A caller of a run that is stuck still waits. It would ask the closed connection again, which ends the process before it has reported.
      if (!stage.keeps) await connection.close();
      await Promise.all(ours.map((member) => member.kill()));
      await temporal.close();
      for (const wire of Object.values(wires)) wire.close();
      for (const receiver of Object.values(receivers)) receiver.close();
      disk.close();
      await store?.close();
      if (!stage.keeps) rmSync(folder, { recursive: true, force: true });
    },
  };
  return stage;
}

const metricsUrlsOf = ({ metrics, ingress }: Parts['ports']) => ({
  'worker-1': urlAt(metrics[0]),
  'worker-2': urlAt(metrics[1]),
  ingress: urlAt(ingress),
});

const secretsOf = ({
  env,
  store,
  changeable,
}: Pick<Stage, 'store' | 'changeable'> & { env: Record<string, string> }): Stage['settingSecrets'] => ({
  ...secretsIn(env),
  ...(store && { 'password of the store': store.password }),
  ...namedKeys(changeable.payloadKeys),
});

const urlAt = (port: number | undefined): string => `http://127.0.0.1:${port}`;

interface Parts {
  folder: string;
  seed: number;
  env: Record<string, string>;
  ingressEnv: Record<string, string>;
  ports: { sandbox: number | undefined; ingress: number | undefined; metrics: number[] };
  disk: Disk;
  changeable: Changeable;
  wires: Stage['wires'];
}

function createMembers({ folder, seed, env, ingressEnv, ports, disk, changeable, wires }: Parts): Member[] {
  const sandboxArgv = [join(projectRoot, 'dist/dev/sandbox/main.js'), '--port', String(ports.sandbox)];
  const workers = workerNames.map((name, i) =>
    createMember({
      ...{ name, folder, isUp: () => answersAt(`${urlAt(ports.metrics[i])}/readyz`) },
      launch: () =>
        changeable.workerLaunch(name, {
          ...{ ...env, TEMPORAL_ADDRESS: wires[name].address },
          FARETRAIL_METRICS_PORT: String(ports.metrics[i]),
        }),
    }),
  );
  const places = { FARETRAIL_INGRESS_PORT: String(ports.ingress), FARETRAIL_JOURNAL_DIR: disk.folder };
  return [
    createMember({
      ...{ name: 'sandbox', folder, isUp: () => answersAt(`${urlAt(ports.sandbox)}/sandbox/health`) },
      launch: () => ({ argv: [...sandboxArgv, '--speed', String(speed), '--seed', String(seed)], env: {} }),
    }),
    ...workers,
    createMember({
      ...{ name: 'ingress', folder, isUp: () => answersAt(`${urlAt(ports.ingress)}/readyz`) },
      launch() {
        disk.cutOff();
        return { argv: nodeArgs('ingress'), env: { ...ingressEnv, ...places } };
      },
    }),
  ];
}

/** A caller has all keys that there will be. */
const converterFor = (keys: readonly string[]) =>
  loadTemporalSettings(
    keys.length === 0 ? {} : { FARETRAIL_ENCRYPT_PAYLOADS: 'true', FARETRAIL_PAYLOAD_KEYS: keys.join(',') },
  ).dataConverter;

const namedKeys = (keys: readonly string[]): Record<string, string> =>
  Object.fromEntries(keys.map((key, i) => [`payload key ${i + 1}`, key.slice(key.indexOf(':') + 1)]));

interface Surroundings {
  folder: string;
  sandboxUrl: string;
  requestsPerSecond: number | undefined;
}

function settings({ folder, sandboxUrl, requestsPerSecond }: Surroundings): Record<string, string> {
  return {
    ...workerEnv({ folder, sandboxUrl, cadence, ...(requestsPerSecond && { requestsPerSecond }) }),
    FARETRAIL_WEBHOOK_KEYS: newKey(),
    FARETRAIL_LOG_LEVEL: 'debug', // the judge searches the logs for secrets
    FARETRAIL_RETRY_AFTER_MAX_MS: '5000', // the sandbox sometimes sends a Retry-After of a day
  };
}

const notifySettings = (receivers: Stage['receivers'], secret: Buffer): Record<string, string> => ({
  FARETRAIL_NOTIFY_ORIGINS: Object.values(receivers)
    .map(({ origin }) => origin)
    .join(','),
  FARETRAIL_NOTIFY_SECRETS: `n1:${secret.toString('base64url')}`,
  FARETRAIL_NOTIFY_PRIVATE: 'true',
});

const secretsIn = (env: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      if (name.endsWith('_SECRET')) return [[name, value]];
      return /_(KEYS|SECRETS)$/.test(name) ? [[name, value.slice(value.indexOf(':') + 1)]] : [];
    }),
  );

/** Temporal runs already. */
async function startAll(members: Stage['members'], prepare: () => Promise<void>): Promise<void> {
  await members.sandbox.start();
  await whenUp(members.sandbox, upWithinMs);
  await prepare();
  await Promise.all([members['worker-1'], members['worker-2'], members.ingress].map((member) => member.start()));
  await Promise.all(Object.values(members).map((member) => whenUp(member, upWithinMs)));
}

/** Must run before a worker requests a token. */
async function prepareSandbox(sandbox: SandboxControl, tokenLifetimeSeconds: number): Promise<void> {
  await sandbox.setTokenLifetime('partner', tokenLifetimeSeconds);
  await sandbox.setTokenLifetime('business', tokenLifetimeSeconds);
  await sandbox.setDeliverySettings({
    retries,
    duplicated: 0.1,
    delayUpToMs: 1_000 * speed,
  });
  const script = [{ status: 'Driving', afterMs: 0 }];
  await sandbox.addOrders(anchorIds.map((orderId) => ({ interface: 'business', orderId, script })));
}

/** Real milliseconds in the sandbox's time. */
export const atSandboxSpeed = (realMs: number): number => realMs * speed;

async function textAt(url: string): Promise<string | null> {
  const answer = fetch(url, { signal: AbortSignal.timeout(2_000) });
  return await answer.then(
    async (reply) => (reply.ok ? await reply.text() : null),
    () => null,
  );
}
