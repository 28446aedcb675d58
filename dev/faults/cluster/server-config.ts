import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Postgres } from '../../stack/postgres/postgres.js';
import { freePort, isFree } from '../../stack/temporal/free-port.js';
import { projectRoot } from '../../stack/temporal/project-root.js';

type Service = 'frontend' | 'history' | 'matching' | 'worker';

/** The layout of a Temporal server. */
export interface Shape {
  /** The services of each process. */
  servers: readonly (readonly Service[])[];
  /** A database keeps this number for ever. */
  historyShards: number;
  /** Of each task queue. */
  partitions: number;
}

const allServices: readonly Service[] = ['frontend', 'history', 'matching', 'worker'];
/** The server of docker-compose.yml, with fewer shards. */
export const composeShape: Shape = { servers: [allServices], historyShards: 8, partitions: 1 };
const clusterOf = (...servers: Service[][]): Shape => ({ servers, historyShards: 64, partitions: 4 });
/** Layouts by their number of processes, with Temporal's usual four partitions. In that of three, each service runs in two processes. */
export const clusterShapes = {
  1: clusterOf([...allServices]),
  3: clusterOf(['frontend', 'history', 'worker'], ['history', 'matching'], ['matching', 'frontend', 'worker']),
} as const satisfies Record<number, Shape>;
/** Three processes as docs/explanation/scaling.md advises for a hundred thousand orders a day. */
export const advisedShape: Shape = { ...clusterShapes[3], historyShards: 16, partitions: 1 };

const ip = '127.0.0.1';
const lowest = 20_000; // well-known programs use ports below it

/** The dynamic settings of docker-compose.yml, with the partitions of the layout. */
export function serverSettings({ partitions }: Shape): string {
  const ofCompose = parse(readFileSync(join(projectRoot, 'deploy/compose/temporal-settings.yaml'), 'utf8'));
  return JSON.stringify({
    ...ofCompose,
    'matching.numTaskqueueReadPartitions': [{ value: partitions }],
    'matching.numTaskqueueWritePartitions': [{ value: partitions }],
  }); // JSON is YAML
}

/** The ports of one server process. */
export interface ServerPorts {
  /** Its gRPC API, where it has a frontend. */
  grpc: number;
  /** Its Prometheus metrics. */
  metrics: number;
}

/**
 * The configuration of one server process, on the databases that the scripts made. It names all services, and the command line those
 * to start. `address` is that of the whole cluster.
 */
export async function serverConfig(
  database: Postgres,
  { historyShards }: Shape,
  { ports, address, settingsFile }: { ports: ServerPorts; address: string; settingsFile: string },
): Promise<string> {
  const rpcs = {
    frontend: { ...(await rpc()), grpcPort: ports.grpc, httpPort: await freePort() },
    matching: await rpc(),
    history: await rpc(),
    worker: await rpc(),
  };
  const config = {
    log: { stdout: true, level: 'warn' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: historyShards,
      datastores: { default: store(database, 'temporal', 20), visibility: store(database, 'temporal_visibility', 5) },
    },
    global: {
      membership: { maxJoinDuration: '30s', broadcastAddress: ip },
      metrics: { prometheus: { framework: 'opentelemetry', listenAddress: `${ip}:${ports.metrics}` } },
    },
    services: Object.fromEntries(Object.entries(rpcs).map(([name, rpc]) => [name, { rpc }])),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: address },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: settingsFile, pollInterval: '60s' },
  };
  return JSON.stringify(config, null, 2);
}

function store({ port, user, password }: Postgres, databaseName: string, maxConns: number): object {
  const connectAddr = `${ip}:${port}`;
  const login = { pluginName: 'postgres12', databaseName, connectAddr, connectProtocol: 'tcp', user, password };
  return { sql: { ...login, maxConns, maxIdleConns: maxConns, maxConnLifetime: '1h' } };
}

const rpc = async () => ({ grpcPort: await freePort(), membershipPort: await freeLowPort(), bindOnIP: ip });

/** The server stores membership ports in signed 16 bits, and the system also gives higher ports. */
async function freeLowPort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, 2 ** 15);
    if (await isFree(port)) return port;
  }
}
