#!/usr/bin/env node
import { createInterface } from 'node:readline/promises';
import { runCli } from './cli/program.js';
import { loadCliConfig, loadConfig } from './config.js';
import { onSignal, userName } from './run-process.js';

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

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  loadSettings: loadCliConfig,
  loadSettingsWithSecrets: loadConfig,
  userName: userName(),
  question: process.stdin.isTTY && process.stderr.isTTY ? question : undefined,
  onInterrupt: (act) => onSignal(['SIGINT', 'SIGTERM', 'SIGHUP'], act),
});
