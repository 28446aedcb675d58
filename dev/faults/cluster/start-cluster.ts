import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Connection } from '@temporalio/client';
import { searchAttributeNames } from '../../../src/domain/search-attribute-names.js';
import { ensureSearchAttributes } from '../../../src/temporal/visibility.js';
import { type Postgres, startPostgres } from '../../stack/postgres/postgres.js';
import { answersAt, until } from '../../stack/run/until.js';
import { findDevServer } from '../../stack/temporal/dev-server.js';
import { freePort } from '../../stack/temporal/free-port.js';
import { projectRoot } from '../../stack/temporal/project-root.js';
import { openReadiness } from '../../stack/temporal/readiness.js';
import { type Report, runCommand, tailOf } from '../../stack/temporal/run-command.js';
import { createMember, type Member, whenUp } from '../chaos/member.js';
import { clusterNames } from '../chaos/plan.js';
import { startRelay } from '../chaos/relay.js';
import type { OnEnd } from '../profile.js';
import { findServerPrograms } from './programs.js';
import { type ServerPorts, type Shape, serverConfig, serverSettings } from './server-config.js';

/** A Temporal server on PostgreSQL. */
export interface Cluster {
  /** `host:port` of its gRPC API; the namespace is `default`. */
  address: string;
  postgres: Postgres;
  servers: readonly Member[];
}

interface Surroundings {
  /** Takes all files. Another user, that of PostgreSQL, gets access to its folder in it. */
  folder: string;
  say: Report;
  onEnd: OnEnd;
}

type RunScript = (name: string, env: Record<string, string>) => Promise<string>;

const namespace = 'default';
const scriptLimitMs = 120_000;
const readyWithinMs = 60_000;

/** Starts both servers on new databases, which the scripts of docker-compose.yml set up, with our search attributes. */
export async function startCluster(shape: Shape, { folder, say, onEnd }: Surroundings): Promise<Cluster> {
  const { server: program, sqlTool } = await findServerPrograms(say);
  const temporal = await findDevServer(say);
  chmodSync(folder, 0o711);
  const run = scriptRunner(folder, { 'temporal-sql-tool': sqlTool, temporal });

  say('starting PostgreSQL');
  const postgres = await startPostgres(join(folder, 'postgres'));
  onEnd(() => postgres.stop());
  say('setting up its databases');
  await setUpDatabases(run, postgres, join(folder, 'password'));

  say(
    `starting Temporal: processes ${shape.servers.length}, history shards ${shape.historyShards}, partitions ${shape.partitions}`,
  );
  const { servers, address, frontends } = await startServers(program, { shape, postgres }, { folder, onEnd });
  try {
    await setUpNamespace(run, frontends);
  } catch (error) {
    const logs = servers.map(({ output }) => tailOf(output().toString()).replaceAll(/^(.{400}).*$/gm, '$1 ...')); // the rest are stacks
    throw new Error(`Temporal on PostgreSQL could not be used\n${logs.join('\n')}`, { cause: error });
  }
  return { address, postgres, servers };
}

interface Started {
  servers: Member[];
  /** One address for all frontends, and that of each. */
  address: string;
  frontends: string[];
}

async function startServers(
  program: string,
  { shape, postgres }: { shape: Shape; postgres: Postgres },
  { folder, onEnd }: Pick<Surroundings, 'folder' | 'onEnd'>,
): Promise<Started> {
  const settingsFile = join(folder, 'settings.yaml');
  writeFileSync(settingsFile, serverSettings(shape));
  const ports: ServerPorts[] = [];
  for (const _ of shape.servers) ports.push({ grpc: await freePort(), metrics: await freePort() });
  const withFrontend = ports.filter((_, i) => shape.servers[i]?.includes('frontend'));
  const frontends = withFrontend.map(({ grpc }) => `127.0.0.1:${grpc}`);
  const { address, close } = await startRelay(frontends);
  onEnd(close);
  const servers: Member[] = [];
  onEnd(async () => void (await Promise.all(servers.map((server) => server.stop()))));
  for (const [i, services] of shape.servers.entries()) {
    const name = clusterNames[i] ?? 'server-1';
    const own = ports[i] ?? { grpc: 0, metrics: 0 };
    const configFile = join(folder, `${name}.yaml`);
    const text = await serverConfig(postgres, shape, { ports: own, address, settingsFile });
    writeFileSync(configFile, text, { mode: 0o600 });
    const chosen = services.flatMap((service) => ['--service', service]);
    const argv = ['--config-file', configFile, '--allow-no-auth', 'start', ...chosen];
    const isUp = () => answersAt(`http://127.0.0.1:${own.metrics}/metrics`);
    const server = createMember({ name, launch: () => ({ program, argv, env: {} }), folder, isUp });
    servers.push(server);
    await server.start();
    if (i === 0) await whenOpen(address); // it sets up the cluster: of two that do so at once, one ends
  }
  await Promise.all(servers.map((server) => whenUp(server, readyWithinMs)));
  return { servers, address, frontends };
}

async function whenOpen(address: string): Promise<void> {
  const connection = Connection.lazy({ address, connectTimeout: readyWithinMs });
  await connection.ensureConnected().finally(() => connection.close());
}

/** Runs the scripts with the programs on their path that images have there. */
function scriptRunner(folder: string, programs: Record<string, string>): RunScript {
  for (const [name, path] of Object.entries(programs)) symlinkSync(path, join(folder, name));
  const shared = { PATH: [folder, process.env.PATH].join(delimiter), HOME: folder };
  return (name, env) => {
    const script = join(projectRoot, 'deploy/compose', name);
    return runCommand('sh', [script], { cwd: folder, env: { ...shared, ...env }, timeLimitMs: scriptLimitMs });
  };
}

async function setUpDatabases(run: RunScript, { port, user, password }: Postgres, passwordFile: string): Promise<void> {
  writeFileSync(passwordFile, password, { mode: 0o600 });
  const place = { SQL_HOST: '127.0.0.1', SQL_PORT: String(port), SQL_USER: user };
  await run('set-up-database.sh', { ...place, SQL_PASSWORD_FILE: passwordFile });
}

/** Each frontend learns of the namespace and the search attributes by itself, seconds later. */
async function setUpNamespace(run: RunScript, frontends: readonly string[]): Promise<void> {
  const [address = ''] = frontends;
  const env = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
  // The server opens its port a little before it is ready.
  const isMade = () => run('make-namespace.sh', env).then(() => true);
  await until('the namespace was not made', isMade, { withinMs: readyWithinMs, everyMs: 1_000 });
  await whenReady(address, []);
  const connection = await Connection.connect({ address });
  await ensureSearchAttributes(connection, namespace);
  await connection.close();
  await Promise.all(frontends.map((one) => whenReady(one, Object.values(searchAttributeNames))));
}

async function whenReady(address: string, searchAttributes: readonly string[]): Promise<void> {
  const { isReady, close } = openReadiness({ address, namespace, searchAttributes });
  await until(`${address} is not ready`, isReady, { withinMs: readyWithinMs }).finally(close);
}
