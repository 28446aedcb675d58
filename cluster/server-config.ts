import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../local/temporal/free-port.js';
import { projectRoot } from '../local/temporal/project-root.js';
import type { Postgres } from './postgres.js';

/** A database keeps its number of shards for ever. docker-compose.yml has 64. */
export const historyShards = 8;

const ip = '127.0.0.1';
const lowest = 20_000; // well-known programs use ports below it

/** The dynamic settings of docker-compose.yml. Two tests also start activities without a workflow, which a dev server allows. */
export const serverSettings = (): string =>
  `${readFileSync(join(projectRoot, 'deploy/compose/temporal-settings.yaml'), 'utf8')}
activity.enableStandalone:
  - value: true
`;

/** The configuration of a Temporal server with all services in one process, on the databases that the scripts made. */
export async function serverConfig(
  database: Postgres,
  settingsFile: string,
): Promise<{ text: string; address: string }> {
  const grpcPort = await freePort();
  const address = `${ip}:${grpcPort}`;
  const rpcs = {
    frontend: { ...(await rpc()), grpcPort, httpPort: await freePort() },
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
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: ip } },
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
  return { text: JSON.stringify(config, null, 2), address }; // JSON is YAML
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
    const server = createServer().listen(port, ip);
    const [isFree] = await Promise.race([
      once(server, 'listening').then(() => [true]),
      once(server, 'error').then(() => [false]),
    ]);
    server.close();
    if (isFree) return port;
  }
}
