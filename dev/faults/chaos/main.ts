import { Command } from 'commander';
import { findDevServer } from '../../stack/temporal/dev-server.js';
import { numberUpTo, openProfile, seedFlag } from '../profile.js';
import { toText } from './report.js';
import { runChaos, runSoak } from './run.js';

interface Flags {
  minutes?: number;
  seed: number;
  soak: boolean;
  json: boolean;
}

const { minutes, seed, soak, json } = new Command('chaos')
  .description('Kills, pauses and restarts all processes of a deployment under load, then checks every promise.')
  .option('--minutes <n>', 'how long it lasts (default: 10, a soak: 120)', numberUpTo(600, { isWhole: false }))
  .option(...seedFlag)
  .option('--soak', 'no faults and less work; looks for what grows', false)
  .option('--json', 'print the report as JSON', false)
  .allowExcessArguments(false)
  .parse()
  .opts<Flags>();

const { say, exitWith } = openProfile('chaos');
await exitWith(async () => {
  const report = await (soak ? runSoak : runChaos)({
    seed,
    forMs: Math.round((minutes ?? (soak ? 120 : 10)) * 60_000),
    temporalProgram: await findDevServer(say),
    say,
  });
  console.log(json ? JSON.stringify(report, null, 2) : toText(report));
  return report.problems.length === 0 ? 0 : 1;
});
