#!/usr/bin/env node
import { createInterface } from 'node:readline/promises';
import { runCli } from './cli/program.js';
import { loadCliConfig, loadConfig } from './config.js';

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [y/N] `);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  loadSettings: (over) => loadCliConfig({ ...process.env, ...over }),
  loadSettingsWithSecrets: (over) => loadConfig({ ...process.env, ...over }),
  confirm: process.stdin.isTTY ? confirm : undefined,
  onInterrupt(act) {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, act);
    return () => process.off('SIGINT', act).off('SIGTERM', act);
  },
});
