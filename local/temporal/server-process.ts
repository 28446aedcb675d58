import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { type SystemUser, tailOf } from './run-command.js';

const stopGraceMs = 5_000; // the dev server needs under one second
const logKept = 20_000; // characters

/** A server program that runs as our child. */
export interface ServerProcess {
  pid: number;
  /** The end of what it wrote. */
  logTail(): string;
  hasEnded(): boolean;
  /** Resolves when it has ended for whatever reason. */
  ended: Promise<void>;
  /** SIGTERM or what was chosen instead, then SIGKILL. Resolves when it has ended. */
  stop(): Promise<void>;
  /** SIGKILL, as in a crash. Resolves when it has ended. */
  kill(): Promise<void>;
}

export interface ServerProcessOptions {
  /** Whom it runs as; default: as we do. */
  user?: SystemUser | undefined;
  /** Default: ours. */
  cwd?: string;
  /** What ends it in order. Default: SIGTERM. */
  stopSignal?: NodeJS.Signals;
}

/**
 * Starts a server in a process group of its own, so that Ctrl-C reaches us alone and we can end things in order.
 * It dies with us nevertheless, see `endWithUs`. Rejects when the program cannot be started at all.
 */
export async function startServerProcess(
  program: string,
  args: readonly string[],
  { user, cwd, stopSignal = 'SIGTERM' }: ServerProcessOptions = {},
): Promise<ServerProcess> {
  const child = spawn(program, args, { ...user, cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      log = (log + text).slice(-logKept);
    });
  }
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  await once(child, 'spawn');
  endWithUs(child);

  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  const stop = async () => {
    child.kill(stopSignal);
    await Promise.race([ended, pause(stopGraceMs, undefined, { ref: false })]);
    await kill();
  };
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return { pid: child.pid ?? 0, logTail: () => tailOf(log), hasEnded, ended, stop, kill };
}

/**
 * However we end, a kill -9 included, the server ends too: a shell waits for the end of its input, which is the moment
 * the system closes our side of the pipe, and then kills the server.
 */
function endWithUs(child: ChildProcess): void {
  const script = 'read -r _; kill -TERM "$1" 2>/dev/null && sleep 2 && kill -KILL "$1" 2>/dev/null';
  const watch = spawn('/bin/sh', ['-c', script, 'sh', String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watch.on('error', () => undefined); // no shell, no watch: then only an orderly end takes the server along
  watch.unref();
  child.once('exit', () => watch.kill('SIGKILL'));
}
