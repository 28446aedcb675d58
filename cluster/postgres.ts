import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isExecutable } from '../local/temporal/find-server.js';
import { freePort } from '../local/temporal/free-port.js';
import { runCommand, type SystemUser } from '../local/temporal/run-command.js';
import { type ServerProcess, startServerProcess } from '../local/temporal/server-process.js';

/** Our own PostgreSQL server with a new database. */
export interface Postgres {
  port: number;
  user: string;
  password: string;
  /** After `stop`: recovers committed data from the log. */
  start(): Promise<void>;
  /** Like `pg_ctl stop -m immediate`: cuts every connection. */
  stop(): Promise<void>;
  /** All that a database holds, as text. */
  dump(database: string): Promise<Buffer>;
}

const debian = '/usr/lib/postgresql';
const user = 'temporal';
const readyWithinMs = 60_000;
const commandLimitMs = 60_000;

/** Starts PostgreSQL with its data below `folder`, which PostgreSQL then owns. Throws an Error with the remedy. */
export async function startPostgres(folder: string): Promise<Postgres> {
  const programs = findPrograms();
  const owner = ownerOfData();
  const data = join(folder, 'data');
  const password = randomBytes(16).toString('hex');
  const passwordFile = join(folder, 'password');
  mkdirSync(folder, { mode: 0o700, recursive: true });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  for (const path of owner ? [folder, passwordFile] : []) chownSync(path, owner?.uid ?? 0, owner?.gid ?? 0);
  const options = { cwd: folder, user: owner, timeLimitMs: commandLimitMs };
  const auth = ['--auth=scram-sha-256', `--pwfile=${passwordFile}`, `--username=${user}`];
  await runCommand(join(programs, 'initdb'), ['-D', data, '--encoding=UTF8', '--locale=C', ...auth], options);
  const port = await freePort();
  const start = () => startProcess(programs, { data, port, owner });
  let server = await start();
  const dumpFile = join(folder, 'dump.sql');
  return {
    port,
    user,
    password,
    async start() {
      server = await start();
    },
    stop: () => server.stop(),
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

/** Debian has a folder for each version and keeps them off the path. */
function findPrograms(): string {
  const versions = readFolder(debian).sort((a, b) => Number(b) - Number(a));
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  const found = folders.find((folder) => ['initdb', 'postgres'].every((name) => isExecutable(join(folder, name))));
  if (found) return found;
  throw new Error('PostgreSQL was not found; on Debian and Ubuntu: apt-get install postgresql');
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** PostgreSQL does not run as root. Its packages make a user for it. */
function ownerOfData(): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? [];
  if (uid === undefined) throw new Error('PostgreSQL does not run as root, and there is no user postgres here');
  return { uid: Number(uid), gid: Number(gid) };
}

interface Process {
  data: string;
  port: number;
  owner: SystemUser | undefined;
}

async function startProcess(programs: string, { data, port, owner }: Process): Promise<ServerProcess> {
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=300'];
  const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
  // SIGQUIT is "immediate": a restart should be rough, and we do not need the data after the end.
  const options = { user: owner, cwd: data, stopSignal: 'SIGQUIT' } as const;
  const server = await startServerProcess(join(programs, 'postgres'), args, options);
  const deadline = Date.now() + readyWithinMs;
  while (!(await isReady(programs, port))) {
    if (server.hasEnded() || Date.now() > deadline) {
      await server.kill();
      throw new Error(`PostgreSQL could not be used\n${server.logTail()}`);
    }
    await pause(100);
  }
  return server;
}

function isReady(programs: string, port: number): Promise<boolean> {
  const asked = runCommand(join(programs, 'pg_isready'), ['-q', '-h', '127.0.0.1', '-p', String(port)], {
    cwd: programs,
    timeLimitMs: commandLimitMs,
  });
  return asked.then(
    () => true,
    () => false,
  );
}
