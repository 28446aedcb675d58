import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../stack/run/until.js';

/** One process of a deployment, and its replacements after faults. */
export interface Member {
  readonly name: string;
  /** Starts it. From then on restarts it when it ends by itself, as a supervisor would. */
  start(): Promise<void>;
  isUp(): Promise<boolean>;
  kill(): Promise<void>;
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Its whole log. */
  output(): Buffer;
  /** When it ended by itself. */
  ownEnds(): { at: number; code: number | null }[];
  /** Its processes so far, newest last. */
  starts(): readonly Start[];
}

/** One process of a member. */
interface Start {
  at: number;
  pid: number | undefined;
}

/** What a process starts with. */
export interface Launch {
  /** Default: Node, whose flags, script and arguments are `argv`. */
  program?: string;
  argv: readonly string[];
  env: Record<string, string>;
}

interface MemberOptions {
  name: string;
  /** Asked at each start, since a deployment changes. */
  launch(): Launch;
  /** The folder of its log. */
  folder: string;
  isUp(): Promise<boolean>;
}

const restartAfterMs = 500;
/** Well above the 40 s after which a worker abandons running activities. */
const stopWithinMs = 60_000;

/** Makes a member of a program. */
export function createMember({ name, launch, folder, isUp }: MemberOptions): Member {
  const logFile = join(folder, `${name}.log`);
  const ownEnds: { at: number; code: number | null }[] = [];
  const starts: Start[] = [];
  let child: ChildProcess | undefined;
  let isWanted = false;

  function spawnIt(): void {
    const log = openSync(logFile, 'a');
    const { program = process.execPath, argv, env } = launch();
    const started = spawn(program, argv, {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'UTC', ...env },
      stdio: ['ignore', log, log],
    });
    closeSync(log); // the child has its own descriptor
    child = started;
    starts.push({ at: Date.now(), pid: started.pid });
    started.once('exit', (code) => {
      if (!isWanted || child !== started) return;
      ownEnds.push({ at: Date.now(), code });
      setTimeout(() => isWanted && child === started && spawnIt(), restartAfterMs).unref();
    });
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    isWanted = false;
    const ending = child;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const exit = once(ending, 'exit');
    ending.kill(signal);
    ending.kill('SIGCONT');
    const limit = setTimeout(() => ending.kill('SIGKILL'), stopWithinMs);
    await exit;
    clearTimeout(limit);
  }

  process.once('exit', () => child?.kill('SIGKILL'));
  return {
    name,
    async start() {
      isWanted = true;
      spawnIt();
    },
    isUp,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    output: () => readFileSync(logFile),
    ownEnds: () => [...ownEnds],
    starts: () => starts,
  };
}

/** Resolves once the member is up. Rejects if that takes too long. */
export const whenUp = (member: Member, withinMs: number): Promise<void> =>
  until(`${member.name} is not up after ${withinMs} ms`, member.isUp, { withinMs, everyMs: 100 });
