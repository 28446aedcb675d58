import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { promptConnectionOptions } from '../../../src/temporal/connection.js';
import { pollEvery, workerEnv } from '../../bench/settings.js';
import { controlSandbox, type SandboxControl } from '../../sandbox/control/client.js';
import { nodeArgs } from '../../stack/run/node-args.js';
import { answersAt } from '../../stack/run/until.js';
import { freePorts } from '../../stack/temporal/free-port.js';
import { projectRoot } from '../../stack/temporal/project-root.js';
import { createMember, type Member, whenUp } from '../chaos/member.js';
import { openStoreSite } from '../chaos/store-site.js';
import { openDevServer } from '../chaos/temporal-member.js';
import { subscribe } from '../chaos/work.js';
import type { OnEnd } from '../profile.js';
import { clientId, clientSecret, startProvider } from './provider.js';

/** A deployment with each door that an actor may stand at. */
export interface Stage {
  members: readonly Member[];
  sandbox: SandboxControl;
  client: Client;
  /** `host:port` of Temporal. */
  address: string;
  taskQueue: string;
  ingressUrl: string;
  deskOrigin: string;
  nexusEndpoint: string;
  /** Secrets of the settings, by name. */
  secrets: Record<string, string>;
  /** Bytes of Temporal's database, and of the journal. */
  sizes(): { temporal: number; journal: number };
}

export interface StageOptions {
  temporalProgram: string;
  /** Origins that take notices. */
  receivers: readonly string[];
  notifySecret: Buffer;
  /** Must deliveries be signed once one was? Otherwise the address alone is the proof. */
  isSigned: boolean;
  onEnd: OnEnd;
}

/** Polls of 200 orders fill this budget, so that each request that an actor causes delays one of them. */
export const requestsPerSecond = 16;
const cadence = pollEvery(5_000);
/** The pauses of the service between two tries of a delivery grow from half a second to a quarter of a minute. */
const speed = 120;
const upWithinMs = 120_000;
const host = '127.0.0.1';
const urlAt = (port: number): string => `http://${host}:${port}`;
const newKey = (): string => `k1:${randomBytes(32).toString('base64url')}`;

/** Starts everything, with an active subscription. Needs a compiled checkout. */
export async function openStage({ temporalProgram, isSigned, onEnd, ...notices }: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-doors-'));
  onEnd(() => (process.env.DOORS_KEEP ? console.log(folder) : rmSync(folder, { recursive: true, force: true })));
  const temporal = await openDevServer(temporalProgram)(folder);
  onEnd(temporal.close);
  const store = await openStoreSite();
  onEnd(store.close);
  const [sandboxPort = 0, ingressPort = 0, deskPort = 0, workerPort = 0] = await freePorts(4);
  const deskOrigin = `http://localhost:${deskPort}`;
  const provider = await startProvider(`${deskOrigin}/callback`);
  onEnd(provider.close);
  const env: Record<string, string> = {
    ...workerEnv({ folder, sandboxUrl: urlAt(sandboxPort), cadence, requestsPerSecond }),
    TEMPORAL_ADDRESS: temporal.address,
    FARETRAIL_WEBHOOK_KEYS: newKey(),
    FARETRAIL_STORE_URL: store.url,
    FARETRAIL_NOTIFY_ORIGINS: notices.receivers.join(','),
    FARETRAIL_NOTIFY_SECRETS: `n1:${notices.notifySecret.toString('base64url')}`,
    FARETRAIL_NOTIFY_PRIVATE: 'true',
    FARETRAIL_PUBLIC_URL: urlAt(ingressPort),
    FARETRAIL_LOG_LEVEL: 'info',
    ...(!isSigned && { FARETRAIL_CONTRACT_FILE: contractWithoutProof(folder) }),
  };
  const desk = {
    FARETRAIL_DESK_PORT: String(deskPort),
    FARETRAIL_DESK_URL: deskOrigin,
    FARETRAIL_DESK_ISSUER: provider.issuer,
    FARETRAIL_DESK_CLIENT_ID: clientId,
    FARETRAIL_DESK_CLIENT_SECRET: clientSecret,
    FARETRAIL_DESK_KEYS: newKey(),
    FARETRAIL_DESK_ROLES: 'view:view,act:act,personal:personal',
  };
  const journal = join(folder, 'journal');
  mkdirSync(journal);
  const nexusEndpoint = `rides-${randomUUID()}`;
  const node = (name: string, readyAt: string, argv: readonly string[], own: Record<string, string>): Member =>
    createMember({ name, folder, isUp: () => answersAt(readyAt), launch: () => ({ argv, env: own }) });
  const program = (path: string, ...args: string[]): string[] => [join(projectRoot, `dist/${path}`), ...args];
  const sandboxArgs = program('dev/sandbox/main.js', '--port', String(sandboxPort), '--speed', String(speed));
  const service = node('sandbox', `${urlAt(sandboxPort)}/sandbox/health`, sandboxArgs, {});
  const ours = [
    node('worker', `${urlAt(workerPort)}/readyz`, nodeArgs('worker'), {
      ...env,
      FARETRAIL_METRICS_PORT: String(workerPort),
    }),
    node('ingress', `${urlAt(ingressPort)}/readyz`, nodeArgs('ingress'), {
      ...env,
      FARETRAIL_INGRESS_PORT: String(ingressPort),
      FARETRAIL_JOURNAL_DIR: journal,
    }),
    node('desk', `${deskOrigin}/healthz`, nodeArgs('desk'), { ...env, ...desk }),
    // Says nothing over HTTP; the first operation waits for it.
    node('nexus', `${urlAt(workerPort)}/readyz`, program('examples/nexus/worker.js', 'partner'), {
      ...env,
      RIDES_ENDPOINT: nexusEndpoint,
    }),
  ];
  const members = [service, ...ours];
  onEnd(async () => void (await Promise.all(members.map((member) => member.kill()))));
  await start([service]);
  const sandbox = controlSandbox(urlAt(sandboxPort));
  await sandbox.setDeliverySettings({ retries: 10 });
  await start(ours);
  const client = new Client({ connection: Connection.lazy({ address: temporal.address, ...promptConnectionOptions }) });
  const taskQueue = env.FARETRAIL_TASK_QUEUE ?? '';
  await subscribe({ client, taskQueue, publicUrl: urlAt(ingressPort) });
  const bytesIn = (path: string, names: RegExp): number =>
    readdirSync(path)
      .filter((name) => names.test(name))
      .reduce((sum, name) => sum + statSync(join(path, name)).size, 0);
  return {
    ...{ members: [...members, ...temporal.members], sandbox, client, address: temporal.address, taskQueue },
    ...{ ingressUrl: urlAt(ingressPort), deskOrigin, nexusEndpoint },
    secrets: secretsIn({ ...env, ...desk, 'password of the store': store.password }),
    sizes: () => ({ temporal: bytesIn(folder, /^temporal\.db/), journal: bytesIn(journal, /./) }),
  };
}

async function start(members: readonly Member[]): Promise<void> {
  await Promise.all(members.map((member) => member.start()));
  await Promise.all(members.map((member) => whenUp(member, upWithinMs)));
}

function contractWithoutProof(folder: string): string {
  const path = join(folder, 'contract.json');
  writeFileSync(path, JSON.stringify({ delivery: { verification: { mode: 'path' } } }));
  return path;
}

/** Keys without their names, client secrets, passwords. */
const secretsIn = (env: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env)
      .filter(([name]) => /_(KEYS|SECRETS?)$|password/.test(name))
      .map(([name, value]) => [name, value.slice(value.indexOf(':') + 1)]),
  );
