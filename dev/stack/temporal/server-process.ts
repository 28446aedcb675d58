import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { type SystemUser, tailOf } from './run-command.js';

const stopGraceMs = 5_000; // the dev server needs under one second
const logKept = 20_000; // characters

/** A server program that runs as a child process. */
export interface ServerProcess {
  pid: number;
  /** The end of its log. */
  logTail(): string;
  hasEnded(): boolean;
  /** Resolves once the server has ended, for whatever reason. */
  ended: Promise<void>;
  /** Sends `stopSignal`, and later SIGKILL. Resolves once the server has ended. */
  stop(): Promise<void>;
  /** Sends SIGKILL, as in a crash. Resolves once the server has ended. */
  kill(): Promise<void>;
}

export interface ServerProcessOptions {
  /** The user of the server; default: our own. */
  user?: SystemUser | undefined;
  /** Default: ours. */
  cwd?: string;
  /** Default: our environment. */
  env?: NodeJS.ProcessEnv;
  /** The signal for an orderly end. Default: SIGTERM. */
  stopSignal?: NodeJS.Signals;
}

/**
 * Starts a server in its own process group, so that Ctrl-C reaches only this process, which can end all servers in order. The
 * server still ends with this process, see `endWithUs`. Rejects if the program does not start.
 */
export async function startServerProcess(
  program: string,
  args: readonly string[],
  { user, cwd, env, stopSignal = 'SIGTERM' }: ServerProcessOptions = {},
): Promise<ServerProcess> {
  const child = spawn(program, args, { ...user, cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
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
 * Ends the server with this process, also after a kill -9. A shell waits for the end of its input, which comes when the system
 * closes our side of the pipe, and then kills the server.
 */
function endWithUs(child: ChildProcess): void {
  const script = 'read -r _; kill -TERM "$1" 2>/dev/null && sleep 2 && kill -KILL "$1" 2>/dev/null';
  const watch = spawn('/bin/sh', ['-c', script, 'sh', String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watch.on('error', () => undefined); // without a shell, only an orderly end of this process ends the server
  watch.unref();
  child.once('exit', () => watch.kill('SIGKILL'));
}
