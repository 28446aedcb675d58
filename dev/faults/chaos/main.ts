import { Command } from 'commander';
import { findDevServer } from '../../stack/temporal/dev-server.js';
import { numberUpTo } from './number-flag.js';
import { toText } from './report.js';
import { runChaos, runSoak } from './run.js';

interface Flags {
  minutes?: number;
  seed: number;
  soak: boolean;
  json: boolean;
}

const startedAt = Date.now();

function say(line: string): void {
  const seconds = Math.round((Date.now() - startedAt) / 1_000);
  process.stderr.write(`chaos ${String(seconds).padStart(4)} s  ${line}\n`);
}

const flags = new Command('chaos')
  .description('Kills, pauses and restarts all processes of a deployment under load, then checks every promise.')
  .option('--minutes <n>', 'how long it lasts (default: 10, a soak: 120)', numberUpTo(600, { isWhole: false }))
  .option(
    '--seed <n>',
    'the same seed and time give the same faults and work',
    numberUpTo(2 ** 31, { isWhole: true }),
    1,
  )
  .option('--soak', 'no faults and less work; looks for what grows', false)
  .option('--json', 'print the report as JSON', false)
  .allowExcessArguments(false)
  .parse()
  .opts<Flags>();

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130)); // children die with us
const report = await (flags.soak ? runSoak : runChaos)({
  seed: flags.seed,
  forMs: Math.round((flags.minutes ?? (flags.soak ? 120 : 10)) * 60_000),
  temporalProgram: await findDevServer(say),
  say,
});
console.log(flags.json ? JSON.stringify(report, null, 2) : toText(report));
process.exit(report.problems.length === 0 ? 0 : 1);
