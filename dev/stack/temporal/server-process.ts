import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { FaretrailError } from '../../../src/domain/errors.js';
import { type SystemUser, tailOf } from './run-command.js';

const stopGraceMs = 5_000; // the dev server needs under one second
const lookEveryMs = 50;
const logKept = 20_000; // characters

/** A server program that runs as a child process. */
export interface ServerProcess {
  pid: number;
  /** The end of its log. */
  logTail(): string;
  hasEnded(): boolean;
  /** How it ended, such as "was ended by SIGKILL". */
  howEnded(): string;
  /** Resolves once the server has ended, for whatever reason. */
  ended: Promise<void>;
  /** Sends `stopSignal`, and later SIGKILL. Resolves once the server has ended. */
  stop(): Promise<void>;
  /** Sends SIGKILL, as in a crash. Resolves once the server has ended. */
  kill(): Promise<void>;
}

export interface ServerProcessOptions {
  /** Its name in errors. Default: the program. */
  name?: string;
  /** The user of the server; default: our own. */
  user?: SystemUser | undefined;
  /** Default: ours. */
  cwd?: string;
  /** Default: our environment. */
  env?: NodeJS.ProcessEnv;
  /** The signal for an orderly end. Default: SIGTERM. */
  stopSignal?: NodeJS.Signals;
  /** How long it gets for that before SIGKILL. Default: 5 s. */
  stopWithinMs?: number;
  /** Keeps its whole log, too. */
  logFile?: string;
  /** Is it up? Default: at once. */
  isUp?: (log: string) => boolean | Promise<boolean>;
  /** Default: 60 s. */
  upWithinMs?: number;
}

/** A server program ended early, or was not up in time. The message has the end of its log. */
export class ServerFailed extends FaretrailError<'ServerEnded' | 'ServerNotUp'> {
  override readonly name = 'ServerFailed';
}

/**
 * Starts a server in its own process group, so that Ctrl-C reaches only this process, which can end all servers in order, and waits until
 * it is up. The server still ends with this process, see `endWithUs`. Throws `ServerFailed`, or the error of a program that does not start.
 */
export async function startServerProcess(
  program: string,
  args: readonly string[],
  options: ServerProcessOptions = {},
): Promise<ServerProcess> {
  const { user, cwd, env, stopSignal = 'SIGTERM', stopWithinMs = stopGraceMs, logFile } = options;
  const child = spawn(program, args, { ...user, cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let log = '';
  const file = logFile === undefined ? undefined : createWriteStream(logFile, { mode: 0o600 });
  for (const stream of [child.stdout, child.stderr]) {
    if (file) stream.pipe(file, { end: false });
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
    await Promise.race([ended, pause(stopWithinMs, undefined, { ref: false })]);
    await kill();
  };
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const howEnded = () => (child.signalCode ? `was ended by ${child.signalCode}` : `ended with ${child.exitCode}`);
  const server = { pid: child.pid ?? 0, logTail: () => tailOf(log), hasEnded, howEnded, ended, stop, kill };
  await untilUp(options.name ?? program, server, () => options.isUp?.(log) ?? true, options.upWithinMs ?? 60_000);
  return server;
}

async function untilUp(
  program: string,
  server: ServerProcess,
  isUp: () => boolean | Promise<boolean>,
  withinMs: number,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!server.hasEnded() && !(await isUp())) {
    if (Date.now() > deadline) {
      await server.kill();
      throw new ServerFailed('ServerNotUp', `${program} was not up within ${withinMs} ms\n${server.logTail()}`);
    }
    await pause(lookEveryMs);
  }
  if (!server.hasEnded()) return;
  await server.ended;
  throw new ServerFailed('ServerEnded', `${program} ${server.howEnded()} before it was up\n${server.logTail()}`);
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
