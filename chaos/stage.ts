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
import type { ProcessName } from './plan.js';
import { anchorIds } from './plan-work.js';
import { openDevServer, type TemporalSite } from './temporal-member.js';

/** A whole deployment on this machine, and its clients. */
export interface Stage {
  /** Its processes by name: with a development server none of `clusterNames`, with a cluster no `temporal`. */
  members: Readonly<Record<ProcessName, Member>>;
  sandbox: SandboxControl;
  client: Client;
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
  /** The budget of each account. Default: more than the suite asks for. */
  requestsPerSecond?: number;
  /** Default: a task queue that no other run of the suite uses. */
  taskQueue?: string;
}

/** Speeds up the sandbox so that an order takes seconds. */
const speed = 120;
const upWithinMs = 120_000;
const cadence = { activeMs: 1_000, reservedMs: 2_000, pushedMs: 5_000 };
const verification = { mode: 'header', name: 'x-subscriber-secret' } as const;
/** In real time. The sandbox divides its waits by its speed. */
const retriesMs = [500, 1_000, 2_000, 3_000, 5_000, 5_000, 10_000, 10_000, 10_000, 10_000, 10_000];

const newKey = (): string => `k1:${randomBytes(32).toString('base64url')}`;

/** Starts the deployment with a development server. Needs a compiled checkout. */
export const openStage = ({
  temporalProgram,
  ...options
}: Omit<StageOptions, 'openTemporal'> & { temporalProgram: string }) =>
  openStageOn({ openTemporal: openDevServer(temporalProgram), ...options });

/** Starts the deployment with Temporal as given. */
export async function openStageOn({ openTemporal, tokenLifetimeSeconds, ...options }: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-chaos-'));
  const temporal = await openTemporal(folder);
  const [sandboxPort, ingressPort, ...metricsPorts] = await freePorts(4);
  const urlAt = (port: number | undefined) => `http://127.0.0.1:${port}`;
  const sandbox = createMember({
    ...{ name: 'sandbox', folder, env: {} },
    argv: [join(projectRoot, 'dist/sandbox/main.js'), '--port', String(sandboxPort), '--speed', String(speed)],
    healthUrl: `${urlAt(sandboxPort)}/sandbox/health`,
  });
  const env = {
    ...settings({ folder, sandboxUrl: urlAt(sandboxPort), address: temporal.address }, options),
    ...(options.taskQueue && { FARETRAIL_TASK_QUEUE: options.taskQueue }),
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
    env: { ...env, FARETRAIL_INGRESS_PORT: String(ingressPort), FARETRAIL_JOURNAL_DIR: join(folder, 'journal') },
    healthUrl: `${urlAt(ingressPort)}/readyz`,
  });
  const ours = [...workers, ingress];
  const members = [...ours, sandbox, ...temporal.members];
  const control = controlSandbox(urlAt(sandboxPort));
  await sandbox.start();
  await whenUp(sandbox, upWithinMs);
  await prepareSandbox(control, tokenLifetimeSeconds);
  await Promise.all(ours.map((member) => member.start()));
  await Promise.all(members.map((member) => whenUp(member, upWithinMs)));
  const connection = await Connection.connect({ address: temporal.address, ...promptConnectionOptions });
  const metricsUrls = {
    'worker-1': urlAt(metricsPorts[0]),
    'worker-2': urlAt(metricsPorts[1]),
    ingress: urlAt(ingressPort),
  };
  const stage: Stage = {
    members: Object.fromEntries(members.map((member) => [member.name, member])) as Stage['members'],
    sandbox: control,
    client: new Client({ connection }),
    taskQueue: env.FARETRAIL_TASK_QUEUE ?? '',
    publicUrl: urlAt(ingressPort),
    metricsUrls,
    metrics: (name) => textAt(`${metricsUrls[name]}/metrics`),
    readDatabase: temporal.readDatabase,
    settingSecrets: secretsIn(env),
    tokenLifetimeMs: tokenLifetimeSeconds * 1_000,
    requestsPerSecond: options.requestsPerSecond,
    folder,
    keeps: false,
    async close() {
      await connection.close();
      await Promise.all([...ours, sandbox].map((member) => member.kill()));
      await temporal.close();
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

interface Place {
  folder: string;
  sandboxUrl: string;
  address: string;
}

function settings(
  { folder, sandboxUrl, address }: Place,
  { requestsPerSecond }: Pick<StageOptions, 'requestsPerSecond'>,
): Record<string, string> {
  const contractFile = join(folder, 'contract.json');
  // The sandbox makes one order of all creates with the same id.
  const operations = { createOrder: { repeatable: true } };
  writeFileSync(contractFile, JSON.stringify({ delivery: { verification }, operations }));
  return {
    ...workerEnv({ folder, sandboxUrl, cadence, ...(requestsPerSecond && { requestsPerSecond }) }),
    TEMPORAL_ADDRESS: address,
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
