import { chownSync, cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Client } from 'pg';
import { isExecutable } from '../temporal/find-server.js';
import { freePort } from '../temporal/free-port.js';
import { type Report, runCommand } from '../temporal/run-command.js';
import { keptFolder } from '../temporal/server-cache.js';
import { startServerProcess } from '../temporal/server-process.js';
import { ownerOfData, type Postgres } from './postgres.js';

const fetchLimitMs = 120_000;

/** The pooler before a server. */
export interface PgBouncer {
  /** Of the same database as that of the server. */
  url: string;
  stop(): Promise<void>;
}

/** Starts PgBouncer before a server, with few connections. Throws an Error with the remedy where there is none. */
export async function startPgBouncer(
  folder: string,
  { postgres, mode }: { postgres: Postgres; mode: 'transaction' | 'session' },
  report: Report,
): Promise<PgBouncer> {
  const owner = ownerOfData(); // it does not run as root either
  mkdirSync(folder, { mode: 0o700, recursive: true });
  const { program, libraries } = await findPgBouncer(folder, report);
  const port = await freePort();
  const settings = {
    ...{ listen_addr: '127.0.0.1', listen_port: port, unix_socket_dir: '', pool_mode: mode },
    default_pool_size: mode === 'session' ? 1 : 3,
    ...{ auth_type: 'scram-sha-256', auth_file: join(folder, 'users') },
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const server = `* = host=127.0.0.1 port=${postgres.port}`;
  const ini = `[databases]\n${server}\n[pgbouncer]\n${lines.join('\n')}\n`;
  writeFileSync(join(folder, 'users'), `"${postgres.user}" "${postgres.password}"\n`, { mode: 0o600 });
  writeFileSync(join(folder, 'ini'), ini);
  if (owner) for (const path of ['', 'users']) chownSync(join(folder, path), owner.uid, owner.gid);
  const url = postgres.url.replace(`:${postgres.port}/`, `:${port}/`);
  const { stop } = await startServerProcess(program, [join(folder, 'ini')], {
    ...{ user: owner, cwd: folder, stopSignal: 'SIGTERM', isUp: () => answers(url) },
    ...(libraries && { env: { ...process.env, LD_LIBRARY_PATH: libraries } }),
  });
  return { url, stop };
}

/** The installed program, otherwise that of Debian's package with its libraries, which the cache keeps. */
async function findPgBouncer(folder: string, report: Report): Promise<{ program: string; libraries?: string }> {
  const installed = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'].map((one) => join(one, 'pgbouncer'));
  const program = installed.find(isExecutable);
  if (program) return { program };
  try {
    const kept = await keptFolder('pgbouncer', ['2'], report, fetchPackages);
    cpSync(join(kept, 'usr'), join(folder, 'usr'), { recursive: true, verbatimSymlinks: true }); // the cache of root is closed to others
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `no PgBouncer to be had: ${why}\nRemedy: install it; on Debian and Ubuntu: apt-get install pgbouncer`,
    );
  }
  const [triplet = ''] = readdirSync(join(folder, 'usr/lib'));
  return { program: join(folder, 'usr/sbin/pgbouncer'), libraries: join(folder, 'usr/lib', triplet) };
}

/** Nothing is installed: the package would start a service. */
async function fetchPackages(folder: string): Promise<void> {
  const options = { cwd: folder, timeLimitMs: fetchLimitMs };
  const packed = () => readdirSync(folder).filter((name) => name.endsWith('.deb'));
  await runCommand('apt-get', ['download', 'pgbouncer'], options);
  const [own = ''] = packed();
  const needs = await runCommand('dpkg-deb', ['--field', own, 'Depends'], options);
  await runCommand('apt-get', ['download', ...(needs.match(/lib(c-?ares|event)[\w.-]*/g) ?? [])], options);
  for (const one of packed()) await runCommand('dpkg-deb', ['--extract', one, folder], options);
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 2_000 });
  return await client.connect().then(
    () => client.end().then(() => true),
    () => false,
  );
}
