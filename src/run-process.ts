import { userInfo } from 'node:os';
import { monotonicMs } from './clock.js';
import { FaretrailError } from './domain/errors.js';
import { createLogger } from './observability/logging.js';
import { mayBeInFile, settingsOf } from './settings/list.js';

// The frame of worker, ingress and desk: their help, their end by a signal, and what they say where they cannot start.

/** A process of a deployment. */
export type ProcessName = 'worker' | 'ingress' | 'desk';

const purposes: Readonly<Record<ProcessName, string>> = {
  worker: 'follows orders, requests rides and keeps subscriptions in place',
  ingress: 'takes webhooks, keeps them on disk, and hands them to Temporal',
  desk: 'is the web page for dispatchers',
};

const settingsPage = 'docs/reference/settings.md';

/** The help of a process. */
export function processHelp(name: ProcessName): string {
  const used = settingsOf(name).map(([setting, about]) => [setting, about, mayBeInFile(about) ? '*' : ''] as const);
  const width = Math.max(...used.map(([setting]) => setting.length)) + 2;
  return `Usage: npm run ${name}

The ${name} ${purposes[name]}.
It takes no arguments: all settings come from environment variables.

${used.map(([setting, { does }, mark]) => `  ${(setting + mark).padEnd(width)} ${does}`).join('\n')}

* or the same name with _FILE at its end: a file that holds it.
Exit codes: 0 after a stop, 1 a failure, 2 it cannot start, with the setting.
What each means, and its default: ${settingsPage}
`;
}

/** Runs a process to its end. `main` throws where the process cannot start or go on. */
export async function runProcess(name: ProcessName, main: () => Promise<void>): Promise<void> {
  const [argument] = process.argv.slice(2);
  if (argument === '--help' || argument === '-h') return void process.stdout.write(processHelp(name));
  if (argument !== undefined) {
    console.error(`the ${name} takes no arguments; see: npm run ${name} -- --help`);
    process.exit(2);
  }
  try {
    await main();
  } catch (error) {
    fail(error, name);
  }
}

/** Ends a process that cannot go on. What a person is to correct is said in plain text; all else is a log line. */
function fail(error: unknown, name: ProcessName): never {
  if (error instanceof FaretrailError) console.error(error.message);
  else createLogger({ level: 'fatal', process: name }).fatal({ err: error }, `the ${name} has failed`);
  return process.exit(error instanceof FaretrailError ? 2 : 1);
}

/** npm passes on a Ctrl-C that the terminal has sent to the whole group already. */
const sameWithinMs = 1_000;

/** Calls `act` with the first of these signals. A later one ends the process at once. Returns a function that undoes this. */
export function onSignal(signals: readonly NodeJS.Signals[], act: (signal: NodeJS.Signals) => void): () => void {
  let firstAt: number | null = null;
  const off = () => {
    for (const signal of signals) process.off(signal, listen);
  };
  const listen = (signal: NodeJS.Signals) => {
    if (firstAt === null) {
      firstAt = monotonicMs();
      act(signal);
    } else if (monotonicMs() - firstAt > sameWithinMs) {
      off();
      process.kill(process.pid, signal);
    }
  };
  for (const signal of signals) process.on(signal, listen);
  return off;
}

/** Resolves with the signal to stop. */
export const stopSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => onSignal(['SIGTERM', 'SIGINT'], resolve));

/** The person at the shell. A container may run as a user that has no name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.()}`;
  }
}
