#!/usr/bin/env node
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { runCli } from './cli/program.js';
import { loadCliConfig, loadConfig } from './config.js';

// A reader that has seen enough (`| head`) is no failure. It ends a command as Ctrl-C does: one that has ordered a ride must cancel it.
let isReaderGone = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  if (!isReaderGone && !process.emit('SIGTERM')) process.exit();
  isReaderGone = true;
});

async function question(text: string): Promise<string> {
  const line = createInterface({ input: process.stdin, output: process.stderr });
  line.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const gone = new Promise<string>((resolve) => void line.once('close', () => resolve('')));
  try {
    return await Promise.race([line.question(text), gone]);
  } finally {
    line.close();
  }
}

/** A container may run as a user that has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.()}`;
  }
}

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  loadSettings: loadCliConfig,
  loadSettingsWithSecrets: loadConfig,
  userName: userName(),
  question: process.stdin.isTTY && process.stderr.isTTY ? question : undefined,
  onInterrupt(act) {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, act);
    return () => process.off('SIGINT', act).off('SIGTERM', act).off('SIGHUP', act);
  },
});
