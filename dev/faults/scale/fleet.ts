import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { promptConnectionOptions } from '../../../src/temporal/connection.js';
import { workerEnv } from '../../bench/settings.js';
import { controlSandbox, type SandboxControl } from '../../sandbox/control/client.js';
import { nodeArgs } from '../../stack/run/node-args.js';
import { answersAt } from '../../stack/run/until.js';
import { freePorts } from '../../stack/temporal/free-port.js';
import { projectRoot } from '../../stack/temporal/project-root.js';
import { createMember, type Member, whenUp } from '../chaos/member.js';
import { startRelay } from '../chaos/relay.js';
import { openStoreSite, type StoreSite } from '../chaos/store-site.js';
import { subscribe } from '../chaos/work.js';
import { advisedShape } from '../cluster/server-config.js';
import { type Cluster, startCluster } from '../cluster/start-cluster.js';
import type { OnEnd } from '../profile.js';

/** A whole deployment of several processes of each kind. */
export interface Fleet {
  cluster: Cluster;
  store: StoreSite;
  workers: readonly Member[];
  ingresses: readonly Member[];
  desk: Member;
  service: Member;
  sandbox: SandboxControl;
  client: Client;
  taskQueue: string;
  deskOrigin: string;
  /** Acknowledged deliveries that wait in the journals; NaN while an ingress is not up. */
  waiting(): Promise<number>;
}

/** Their changes are found by polls alone. */
export const polledAccounts = ['partner', 'partner-1', 'partner-2'] as const;
/** Deliveries announce its changes. */
export const announcedAccount = 'business';
/** Of each account. */
export const requestsPerSecond = 16;

const counts = { workers: 3, ingresses: 2 };
const upWithinMs = 120_000;
const host = '127.0.0.1';
const verification = { mode: 'hmac', header: 'x-signature', encoding: 'base64', prefix: 'sha256=' } as const;
const profile = { delivery: { verification } };
/** As the guide says for many orders, with room for all of them in two of three caches. */
const forManyOrders = {
  NODE_OPTIONS: '--max-old-space-size=1400 --max-semi-space-size=4',
  ...{ MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072' },
};

/** Starts three Temporal servers on PostgreSQL, the store, the service, and our processes with a subscription. */
export async function openFleet(folder: string, say: (line: string) => void, onEnd: OnEnd): Promise<Fleet> {
  const cluster = await startCluster(advisedShape, { folder, say, onEnd });
  const store = await openStoreSite();
  onEnd(() => store.close());
  const [sandboxPort = 0, deskPort = 0, ...ports] = await freePorts(2 + counts.workers + counts.ingresses);
  const env = settings({ folder, sandboxPort, address: cluster.address, store });
  const sandboxArgv = [join(projectRoot, 'dist/dev/sandbox/main.js'), '--port', String(sandboxPort)];
  const service = createMember({
    ...{ name: 'service', folder, isUp: () => answersAt(`http://${host}:${sandboxPort}/sandbox/health`) },
    launch: () => ({ argv: sandboxArgv, env: {} }),
  });
  const workers = ports.slice(0, counts.workers).map((port, i) =>
    createMember({
      ...{ name: `worker-${i + 1}`, folder, isUp: () => answersAt(`http://${host}:${port}/readyz`) },
      launch: () => ({
        argv: nodeArgs('worker'),
        env: { ...env, ...forManyOrders, FARETRAIL_METRICS_PORT: String(port) },
      }),
    }),
  );
  const ingressPorts = ports.slice(counts.workers);
  const ingresses = ingressPorts.map((port, i) => ingressAt(port, { name: `ingress-${i + 1}`, env, folder }));
  const desk = createMember({
    ...{ name: 'desk', folder, isUp: () => answersAt(`http://${host}:${deskPort}/healthz`) },
    launch: () => ({ argv: nodeArgs('desk'), env: { ...env, FARETRAIL_DESK_PORT: String(deskPort) } }),
  });
  const sandbox = controlSandbox(`http://${host}:${sandboxPort}`);
  const ours = [...workers, ...ingresses, desk];
  onEnd(async () => void (await Promise.all([service, ...ours].map((member) => member.kill()))));
  await start([service]);
  await sandbox.setDeliverySettings({ secret: verification });
  await start(ours);
  // Nobody closes the connection: a call that is made again on a closed one would end the process in the middle of a stop.
  const client = new Client({ connection: Connection.lazy({ address: cluster.address, ...promptConnectionOptions }) });
  const balancer = await startRelay(ingressPorts.map((port) => `${host}:${port}`));
  onEnd(balancer.close);
  const taskQueue = env.FARETRAIL_TASK_QUEUE ?? '';
  await subscribe({ client, taskQueue, publicUrl: `http://${balancer.address}` });
  return {
    ...{ cluster, store, workers, ingresses, desk, service, sandbox, client, taskQueue },
    deskOrigin: `http://${host}:${deskPort}`,
    async waiting() {
      const depths = await Promise.all(ingressPorts.map((port) => gaugeAt(port, 'faretrail_journal_deliveries')));
      return depths.reduce((sum, depth) => sum + depth, 0);
    },
  };
}

async function start(members: readonly Member[]): Promise<void> {
  await Promise.all(members.map((member) => member.start()));
  await Promise.all(members.map((member) => whenUp(member, upWithinMs)));
}

function ingressAt(
  port: number,
  { name, env, folder }: { name: string; env: Record<string, string>; folder: string },
): Member {
  const journal = join(folder, `journal of ${name}`);
  mkdirSync(journal);
  const own = { FARETRAIL_INGRESS_PORT: String(port), FARETRAIL_JOURNAL_DIR: journal };
  return createMember({
    ...{ name, folder, isUp: () => answersAt(`http://${host}:${port}/readyz`) },
    launch: () => ({ argv: nodeArgs('ingress'), env: { ...env, ...own } }),
  });
}

interface Surroundings {
  folder: string;
  sandboxPort: number;
  address: string;
  store: StoreSite;
}

function settings({ folder, sandboxPort, address, store }: Surroundings): Record<string, string> {
  const contractFile = join(folder, 'contract.json');
  writeFileSync(contractFile, JSON.stringify(profile));
  const moreAccounts = polledAccounts.length - 1;
  return {
    ...workerEnv({ folder, sandboxUrl: `http://${host}:${sandboxPort}`, requestsPerSecond, moreAccounts }),
    TEMPORAL_ADDRESS: address,
    FARETRAIL_CONTRACT_FILE: contractFile,
    FARETRAIL_STORE_URL: store.url,
    FARETRAIL_WEBHOOK_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
  };
}

async function gaugeAt(port: number, name: string): Promise<number> {
  const text = await fetch(`http://${host}:${port}/metrics`, { signal: AbortSignal.timeout(2_000) }).then(
    (answer) => answer.text(),
    () => '',
  );
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}
