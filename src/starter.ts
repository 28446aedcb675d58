#!/usr/bin/env node
import { runCli } from './cli/program.js';
import { loadCliConfig, loadConfig } from './config.js';

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  loadSettings: (over) => loadCliConfig({ ...process.env, ...over }),
  loadSettingsWithSecrets: (over) => loadConfig({ ...process.env, ...over }),
  onInterrupt(act) {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, act);
    return () => process.off('SIGINT', act).off('SIGTERM', act);
  },
});
