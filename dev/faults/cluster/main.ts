import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { numberUpTo, openProfile, seedFlag, someOf } from '../profile.js';
import { measure } from './measure.js';
import { runTests } from './run-tests.js';
import { clusterShapes, composeShape } from './server-config.js';
import { type FaultsWanted, runServerFaults } from './server-faults.js';
import { type Cluster, startCluster } from './start-cluster.js';
import { isGood, sum, type Tally, toText } from './tally.js';

interface Wanted extends FaultsWanted {
  only: Part[];
  rounds: number;
  files: string[];
}

const { say, onEnd, isStopped, exitWith } = openProfile('cluster');

/** The part `faults` has servers of its own, which have ended before the others start theirs. */
const parts = {
  faults: (wanted) => runServerFaults(wanted, say, onEnd),
  tests: async ({ files }) => runTests(await oneServer(), files, onEnd),
  bench: async ({ rounds }) => measure(await oneServer(), rounds, say),
} satisfies Record<string, (wanted: Wanted) => Promise<Tally | undefined>>;
type Part = keyof typeof parts;
const partNames = Object.keys(parts) as Part[];

function toServers(text: string): FaultsWanted['servers'] {
  const found = Object.keys(clusterShapes).find((count) => count === text);
  if (found !== undefined) return Number(found) as FaultsWanted['servers'];
  throw new InvalidArgumentError(`must be one of ${Object.keys(clusterShapes).join(', ')}.`);
}

let starting: Promise<Cluster> | undefined;
function oneServer(): Promise<Cluster> {
  starting ??= startOneServer();
  return starting;
}

function startOneServer(): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-cluster-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  return startCluster(composeShape, { folder, say, onEnd });
}

async function run(wanted: Wanted): Promise<number> {
  const tallies: Tally[] = [];
  for (const part of partNames.filter((name) => wanted.only.includes(name))) {
    if (isStopped()) break;
    const tally = await parts[part](wanted);
    if (tally === undefined) continue; // this part prints figures and checks nothing
    say(`${part}: ${toText(tally)}`);
    tallies.push(tally);
  }
  if (tallies.length === 0) return 0;
  console.log(toText(sum(tallies)));
  return isGood(sum(tallies)) ? 0 : 1;
}

await new Command('cluster')
  .description('Runs tests, measurements and faults against Temporal servers on PostgreSQL.')
  .argument('[files...]', 'test files for the part "tests"; default: those for which the server matters')
  .option('--only <parts>', `some of ${partNames.join(',')}`, someOf(partNames), partNames)
  .option(
    '--rounds <n>',
    'how often the bench measures each side; medians are shown',
    numberUpTo(20, { isWhole: true }),
    3,
  )
  .option('--servers <n>', 'server processes of the faults: 1 or 3', toServers, 3)
  .option('--minutes <n>', 'how long the faults last', numberUpTo(600, { isWhole: false }), 10)
  .option(...seedFlag)
  .addHelpText(
    'after',
    '\nTakes about half an hour on two idle cores, and a few more when the server must be built first.',
  )
  .action((files: string[], flags: Omit<Wanted, 'files'>) => exitWith(() => run({ ...flags, files })))
  .parseAsync();
