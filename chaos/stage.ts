import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { workerEnv } from '../bench/settings.js';
import { nodeArgs } from '../local/stack/node-args.js';
import { freePort } from '../local/temporal/free-port.js';
import { projectRoot } from '../local/temporal/project-root.js';
import { controlSandbox, type SandboxControl } from '../sandbox/sandbox-control.js';
import { promptConnectionOptions } from '../src/temporal/connection.js';
import { createMember, type Member, whenUp } from './member.js';
import { type ProcessName, processNames } from './plan.js';
import { anchorIds } from './plan-work.js';
import { createTemporalMember } from './temporal-member.js';

/** A whole deployment on this machine, and its clients. */
export interface Stage {
  members: Record<ProcessName, Member>;
  sandbox: SandboxControl;
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
  databaseFile: string;
  /** Secrets of the settings, by name. No text may hold them. */
  settingSecrets: Record<string, string>;
  tokenLifetimeMs: number;
  /** Holds all files of the deployment. */
  folder: string;
  /** Does the folder stay after `close`? */
  keeps: boolean;
  close(): Promise<void>;
}

export interface StageOptions {
  temporalProgram: string;
  tokenLifetimeSeconds: number;
  /** Default: a task queue that no other run of the suite uses. */
  taskQueue?: string;
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
const verification = { mode: 'header', name: 'x-subscriber-secret' } as const;
/** In real time. The sandbox divides its waits by its speed. */
const retriesMs = [500, 1_000, 2_000, 3_000, 5_000, 5_000, 10_000, 10_000, 10_000, 10_000, 10_000];

/** The judge reads whole histories, and hostile messages are long. */
const channelArgs = { ...promptConnectionOptions.channelArgs, 'grpc.max_receive_message_length': 134_217_728 };

const newKey = (): string => `k1:${randomBytes(32).toString('base64url')}`;

/** Starts the deployment. Needs a compiled checkout. */
export async function openStage({
  temporalProgram,
  tokenLifetimeSeconds,
  taskQueue,
  route = async (_link, address) => address,
  env: more = {},
}: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-chaos-'));
  const databaseFile = join(folder, 'temporal.db');
  const [temporalPort, sandboxPort, ingressPort, ...metricsPorts] = await freePorts(5);
  const urlAt = (port: number | undefined) => `http://127.0.0.1:${port}`;
  const temporal = createTemporalMember({ program: temporalProgram, databaseFile, port: temporalPort ?? 0 });
  const sandbox = createMember({
    ...{ name: 'sandbox', folder, env: {} },
    argv: [join(projectRoot, 'dist/sandbox/main.js'), '--port', String(sandboxPort), '--speed', String(speed)],
    healthUrl: `${urlAt(sandboxPort)}/sandbox/health`,
  });
  const reached = (link: Link, port: number | undefined) => route(link, `127.0.0.1:${port}`);
  const env = {
    ...settings(folder, `http://${await reached('worker to service', sandboxPort)}`),
    TEMPORAL_ADDRESS: await reached('worker to Temporal', temporalPort),
    ...(taskQueue && { FARETRAIL_TASK_QUEUE: taskQueue }),
    ...more,
  };
  const ofIngress = {
    TEMPORAL_ADDRESS: await reached('ingress to Temporal', temporalPort),
    FARETRAIL_INGRESS_PORT: String(ingressPort),
    FARETRAIL_JOURNAL_DIR: join(folder, 'journal'),
  };
  const workers = (['worker-1', 'worker-2'] as const).map((name, i) =>
    createMember({
      ...{ name, argv: nodeArgs('worker'), folder },
      env: { ...env, FARETRAIL_METRICS_PORT: String(metricsPorts[i]) },
      healthUrl: `${urlAt(metricsPorts[i])}/readyz`,
    }),
  );
  const ingress = createMember({
    ...{ name: 'ingress', argv: nodeArgs('ingress'), folder },
    env: { ...env, ...ofIngress },
    healthUrl: `${urlAt(ingressPort)}/readyz`,
  });
  const members = { 'worker-1': workers[0], 'worker-2': workers[1], ingress, temporal, sandbox } as Stage['members'];
  const control = controlSandbox(urlAt(sandboxPort));
  await startAll(members, async () => await prepareSandbox(control, tokenLifetimeSeconds));
  const address = `127.0.0.1:${temporalPort}`;
  const connection = await Connection.connect({ address, ...promptConnectionOptions, channelArgs });
  const metricsUrls = {
    'worker-1': urlAt(metricsPorts[0]),
    'worker-2': urlAt(metricsPorts[1]),
    ingress: urlAt(ingressPort),
  };
  const stage: Stage = {
    members,
    sandbox: control,
    client: new Client({ connection }),
    address,
    taskQueue: env.FARETRAIL_TASK_QUEUE ?? '',
    publicUrl: `http://${await reached('service to ingress', ingressPort)}`,
    metricsUrls,
    metrics: (name) => textAt(`${metricsUrls[name]}/metrics`),
    databaseFile,
    settingSecrets: secretsIn(env),
    tokenLifetimeMs: tokenLifetimeSeconds * 1_000,
    folder,
    keeps: false,
    async close() {
      await connection.close();
      await Promise.all([...workers, ingress, sandbox].map((member) => member.kill()));
      await temporal.kill();
      if (!stage.keeps) rmSync(folder, { recursive: true, force: true });
    },
  };
  return stage;
}

/** Finds ports one after the other, since parallel searches may find the same port. */
async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

function settings(folder: string, sandboxUrl: string): Record<string, string> {
  const contractFile = join(folder, 'contract.json');
  // The sandbox makes one order of all creates with the same id.
  const operations = { createOrder: { repeatable: true } };
  writeFileSync(contractFile, JSON.stringify({ delivery: { verification }, operations }));
  return {
    ...workerEnv({ folder, sandboxUrl, cadence }),
    FARETRAIL_CONTRACT_FILE: contractFile,
    FARETRAIL_WEBHOOK_KEYS: newKey(),
    FARETRAIL_LOG_LEVEL: 'debug', // the judge searches the logs for secrets
    FARETRAIL_RETRY_AFTER_MAX_MS: '5000', // the sandbox sometimes sends a Retry-After of a day
  };
}

const secretsIn = (env: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      if (name.endsWith('_SECRET')) return [[name, value]];
      return name.endsWith('_KEYS') ? [[name, value.slice(value.indexOf(':') + 1)]] : [];
    }),
  );

async function startAll(members: Stage['members'], prepare: () => Promise<void>): Promise<void> {
  await Promise.all([members.temporal.start(), members.sandbox.start()]);
  await whenUp(members.sandbox, upWithinMs);
  await prepare();
  await Promise.all([members['worker-1'], members['worker-2'], members.ingress].map((member) => member.start()));
  await Promise.all(processNames.map((name) => whenUp(members[name], upWithinMs)));
}

/** Must run before a worker requests a token. */
async function prepareSandbox(sandbox: SandboxControl, tokenLifetimeSeconds: number): Promise<void> {
  await sandbox.setTokenLifetime('partner', tokenLifetimeSeconds);
  await sandbox.setTokenLifetime('business', tokenLifetimeSeconds);
  await sandbox.setDeliverySettings({
    secret: verification,
    retryDelaysMs: retriesMs.map((ms) => ms * speed),
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
