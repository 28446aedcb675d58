import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { findDevServer } from '../local/temporal/dev-server.js';
import { projectRoot } from '../local/temporal/project-root.js';
import { waitUntilReady } from '../local/temporal/readiness.js';
import { type Report, runCommand } from '../local/temporal/run-command.js';
import { startServerProcess } from '../local/temporal/server-process.js';
import { searchAttributeNames } from '../src/domain/search-attribute-names.js';
import { ensureSearchAttributes } from '../src/temporal/search-attributes.js';
import { type Postgres, startPostgres } from './postgres.js';
import { findServerPrograms } from './programs.js';
import { historyShards, serverConfig, serverSettings } from './server-config.js';

/** A Temporal server on PostgreSQL. */
export interface Cluster {
  /** `host:port` of its gRPC API; the namespace is `default`. */
  address: string;
  postgres: Postgres;
}

/** Takes the end of something that was started. The ends run in reverse order. */
export type OnEnd = (end: () => void | Promise<void>) => void;

type RunScript = (name: string, env: Record<string, string>) => Promise<string>;

const namespace = 'default';
const scriptLimitMs = 120_000;
const readyWithinMs = 60_000;
const namespaceTries = 20; // as in docker-compose.yml

/** Starts both servers on new databases, which the scripts of docker-compose.yml set up, with our search attributes. */
export async function startCluster(say: Report, onEnd: OnEnd): Promise<Cluster> {
  const { server: program, sqlTool } = await findServerPrograms(say);
  const temporal = await findDevServer(say);
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-cluster-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o711); // the PostgreSQL user needs access to its folder in it
  const run = scriptRunner(folder, { 'temporal-sql-tool': sqlTool, temporal });

  say('starting PostgreSQL');
  const postgres = await startPostgres(join(folder, 'postgres'));
  onEnd(() => postgres.stop());
  say('setting up its databases');
  await setUpDatabases(run, postgres, join(folder, 'password'));

  say(`starting Temporal with ${historyShards} history shards`);
  const settingsFile = join(folder, 'settings.yaml');
  writeFileSync(settingsFile, serverSettings());
  const { text, address } = await serverConfig(postgres, settingsFile);
  const configFile = join(folder, 'server.yaml');
  writeFileSync(configFile, text, { mode: 0o600 });
  const server = await startServerProcess(program, ['--config-file', configFile, '--allow-no-auth', 'start']);
  onEnd(() => server.stop());
  try {
    await Promise.race([setUpNamespace(run, address), server.ended.then(() => Promise.reject(new Error('it ended')))]);
  } catch (error) {
    const log = server.logTail().replaceAll(/^(.{400}).*$/gm, '$1 ...'); // the rest are stacks
    throw new Error(`Temporal on PostgreSQL could not be used\n${log}`, { cause: error });
  }
  return { address, postgres };
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

async function setUpNamespace(run: RunScript, address: string): Promise<void> {
  const env = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
  for (let tries = 1; ; tries += 1) {
    try {
      await run('make-namespace.sh', env);
      break;
    } catch (error) {
      if (tries === namespaceTries) throw error;
      await pause(1_000); // the server opens its port a little before it is ready
    }
  }
  const signal = AbortSignal.timeout(readyWithinMs);
  await waitUntilReady({ address, namespace, searchAttributes: [], signal });
  const connection = await Connection.connect({ address });
  await ensureSearchAttributes(connection, namespace);
  await connection.close();
  const searchAttributes = Object.values(searchAttributeNames);
  if (!(await waitUntilReady({ address, namespace, searchAttributes, signal }))) throw new Error('not ready in time');
}
