import { randomBytes } from 'node:crypto';
import { chownSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { freePort } from '../temporal/free-port.js';
import { type Report, runCommand, type SystemUser } from '../temporal/run-command.js';
import { type ServerProcess, startServerProcess } from '../temporal/server-process.js';
import { findPostgres } from './find-postgres.js';

/** Our own PostgreSQL server with a new database. */
export interface Postgres {
  port: number;
  user: string;
  password: string;
  /** Of the database `postgres`, with the password. */
  url: string;
  /** After `stop`: recovers committed data from the log. */
  start(): Promise<void>;
  /** Like `pg_ctl stop -m immediate`: cuts every connection. */
  stop(): Promise<void>;
  /** Stops all of its processes where they are, as a machine that hangs; connections stay open. */
  pause(): void;
  resume(): void;
  /** All that a database holds, as text. Needs `pg_dump`. */
  dump(database: string): Promise<Buffer>;
}

const user = 'faretrail';
const commandLimitMs = 60_000;

const silent: Report = () => undefined;

/** Starts PostgreSQL with its data below `folder`, which PostgreSQL then owns. Throws an Error with the remedy. */
export async function startPostgres(folder: string, report = silent): Promise<Postgres> {
  const found = await findPostgres(report);
  const owner = ownerOfData();
  mkdirSync(folder, { mode: 0o700, recursive: true });
  const programs = found.areInstalled || !owner ? found.folder : copyFor(owner, found.folder, folder);
  const data = join(folder, 'data');
  const password = randomBytes(16).toString('hex');
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  for (const path of owner ? [folder, passwordFile] : []) chownSync(path, owner?.uid ?? 0, owner?.gid ?? 0);
  const options = { cwd: folder, user: owner, timeLimitMs: commandLimitMs };
  const auth = ['--auth=scram-sha-256', `--pwfile=${passwordFile}`, `--username=${user}`];
  await runCommand(join(programs, 'initdb'), ['-D', data, '--encoding=UTF8', '--locale=C', ...auth], options);
  const port = await freePort();
  const start = () => startProcess(programs, { data, port, owner, password });
  let server = await start();
  const dumpFile = join(folder, 'dump.sql');
  return {
    port,
    user,
    password,
    url: `postgresql://${user}:${password}@127.0.0.1:${port}/postgres`,
    async start() {
      server = await start();
    },
    stop() {
      signalAll(server.pid, 'SIGCONT');
      return server.stop();
    },
    pause: () => signalAll(server.pid, 'SIGSTOP'),
    resume: () => signalAll(server.pid, 'SIGCONT'),
    async dump(database) {
      const place = ['-h', '127.0.0.1', '-p', String(port), '-U', user, '-d', database];
      const env = { ...process.env, PGPASSWORD: password };
      await runCommand(join(programs, 'pg_dump'), [...place, '--data-only', '-f', dumpFile], {
        ...options,
        user: undefined,
        env,
      });
      return readFileSync(dumpFile);
    },
  };
}

/** PostgreSQL does not run as root. Its packages make a user for it. */
export function ownerOfData(): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8');
  for (const name of ['postgres', 'nobody']) {
    const [, uid, gid] = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(users) ?? [];
    if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user postgres nor nobody here');
}

/** The cache of root is closed to other users. */
function copyFor({ uid, gid }: SystemUser, programs: string, folder: string): string {
  const copy = join(folder, 'programs');
  cpSync(dirname(programs), copy, { recursive: true, verbatimSymlinks: true });
  chownSync(folder, uid, gid);
  return join(copy, 'bin');
}

/** The server and its own processes, which are groups of their own. */
function signalAll(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  const isOf = (name: string): boolean => {
    try {
      return (
        / \d+$/.exec(readFileSync(`/proc/${name}/stat`, 'utf8').split(' ').slice(0, 4).join(' '))?.[0] === ` ${pid}`
      );
    } catch {
      return false; // it has ended
    }
  };
  const own = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOf(name));
  for (const one of [pid, ...own.map(Number)])
    try {
      process.kill(one, signal);
    } catch {
      // it has ended meanwhile
    }
}

interface Process {
  data: string;
  port: number;
  owner: SystemUser | undefined;
  password: string;
}

async function startProcess(programs: string, { data, port, owner, password }: Process): Promise<ServerProcess> {
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=300'];
  const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
  // SIGQUIT is "immediate": a restart should be rough, and we do not need the data after the end.
  const isUp = () => isReady({ port, password });
  return await startServerProcess(join(programs, 'postgres'), args, {
    user: owner,
    cwd: data,
    stopSignal: 'SIGQUIT',
    isUp,
  });
}

async function isReady({ port, password }: Pick<Process, 'port' | 'password'>): Promise<boolean> {
  const client = new Client({
    host: '127.0.0.1',
    port,
    user,
    password,
    database: 'postgres',
    connectionTimeoutMillis: 2_000,
  });
  return await client.connect().then(
    () => client.end().then(() => true),
    () => false,
  );
}
