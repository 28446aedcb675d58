import { spawn } from 'node:child_process';

/** Takes one line of progress. */
export type Report = (line: string) => void;

/** A user of this machine, by number. */
export interface SystemUser {
  uid: number;
  gid: number;
}

export interface CommandOptions {
  cwd: string;
  /** Default: our environment. */
  env?: NodeJS.ProcessEnv;
  /** The user of the command; default: our own. */
  user?: SystemUser | undefined;
  /** The name of the command in a report every 20 seconds. */
  progress?: { what: string; report: Report };
  timeLimitMs: number;
}

const progressEveryMs = 20_000;
const tailLines = 15;

/** Runs a command and returns its output. Throws an Error with the end of the output if the command fails or takes too long. */
export async function runCommand(command: string, args: readonly string[], options: CommandOptions): Promise<string> {
  const startedAt = Date.now();
  const { cwd, env, user } = options;
  const child = spawn(command, args, { cwd, env, ...user, stdio: ['ignore', 'pipe', 'pipe'] });
  const killChild = () => child.kill('SIGKILL');
  process.once('exit', killChild);
  const limit = setTimeout(killChild, options.timeLimitMs);
  const { progress } = options;
  const alive = setInterval(() => progress?.report(`${progress.what}: ${elapsed(startedAt)}`), progressEveryMs);
  try {
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    const [code, signal] = await ended(child);
    if (code === 0) return output;
    throw new Error(`${command} ended with ${signal ?? code} after ${elapsed(startedAt)}\n${tailOf(output)}`.trim());
  } finally {
    clearTimeout(limit);
    clearInterval(alive);
    process.off('exit', killChild);
  }
}

/** The last lines of a log. */
export function tailOf(output: string): string {
  return output.trim().split('\n').slice(-tailLines).join('\n');
}

function ended(child: ReturnType<typeof spawn>): Promise<[code: number | null, signal: string | null]> {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve([code, signal]));
  });
}

function elapsed(since: number): string {
  const seconds = Math.round((Date.now() - since) / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
