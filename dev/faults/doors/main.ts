import Table from 'cli-table3';
import { Command } from 'commander';
import { findDevServer } from '../../stack/temporal/dev-server.js';
import { numberUpTo, openProfile, seedFlag } from '../profile.js';
import { runDoors } from './run.js';

interface Flags {
  minutes: number;
  seed: number;
  json: boolean;
}

const { minutes, seed, json } = new Command('test:doors')
  .description(
    'Lets actors try all that they can who know only an address, a view-only sign-in, a Nexus endpoint or a receiver, ' +
      'beside 200 followed orders, then holds the promises against what came of it.',
  )
  .option('--minutes <n>', 'how long they try', numberUpTo(60, { isWhole: false }), 2)
  .option(...seedFlag)
  .option('--json', 'print the report as JSON', false)
  .allowExcessArguments(false)
  .parse()
  .opts<Flags>();

const { say, onEnd, exitWith } = openProfile('doors');
await exitWith(async () => {
  const temporalProgram = await findDevServer(say);
  const report = await runDoors({ seed, forMs: Math.round(minutes * 60_000), temporalProgram, say, onEnd });
  console.log(json ? JSON.stringify({ seed, minutes, ...report }, null, 2) : toText(report));
  return report.problems.length === 0 ? 0 : 1;
});

function toText({ figures, answers, problems }: Awaited<ReturnType<typeof runDoors>>): string {
  const table = new Table({ colAligns: ['left', 'right'], style: { head: [], border: [] } });
  for (const [name, figure] of Object.entries(figures)) table.push([name, figure.toLocaleString('en-US')]);
  const list = (counts: Record<string, number>) =>
    Object.entries(counts)
      .map((pair) => pair.join(': '))
      .sort()
      .join(', ');
  return [
    table.toString(),
    ...Object.entries(answers).map(([name, counts]) => `${name}: ${list(counts)}`),
    problems.length === 0 ? 'nothing is wrong' : `WRONG, ${problems.length}:\n${problems.join('\n')}`,
    `seed ${seed}, ${minutes} minutes`,
  ].join('\n');
}
