import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { numberUpTo } from '../chaos/number-flag.js';
import { measure } from './measure.js';
import { restartDatabase } from './restart-database.js';
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

const ends: (() => void | Promise<void>)[] = [];
const onEnd = (end: () => void | Promise<void>) => void ends.unshift(end);

/** The part `faults` has servers of its own, which have ended before the others start theirs. */
const parts = {
  faults: (wanted) => runServerFaults(wanted, say, onEnd),
  tests: async ({ files }) => runTests(await oneServer(), files, onEnd),
  bench: async ({ rounds }) => measure(await oneServer(), rounds, say),
  restart: async () => restartDatabase(await oneServer(), say, onEnd),
} satisfies Record<string, (wanted: Wanted) => Promise<Tally | undefined>>;
type Part = keyof typeof parts;
const partNames = Object.keys(parts) as Part[];

const startedAt = Date.now();

function say(line: string): void {
  const seconds = Math.round((Date.now() - startedAt) / 1_000);
  process.stderr.write(`cluster ${String(seconds).padStart(4)} s  ${line}\n`);
}

function toParts(text: string): Part[] {
  const asked = text.split(',').map((word) => partNames.find((part) => part === word.trim()));
  if (asked.every((part) => part !== undefined)) return asked;
  throw new InvalidArgumentError(`must be some of ${partNames.join(',')}.`);
}

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

const startLimitMs = 15_000;

/** Ends everything once, and what is about to start, too. A second caller waits for the same end. */
let ending: Promise<void> | undefined;
function endAll(): Promise<void> {
  ending ??= (async () => {
    await Promise.race([starting?.catch(() => undefined), pause(startLimitMs, undefined, { ref: false })]);
    for (const end of ends) await Promise.resolve(end()).catch((error: Error) => say(error.message));
  })();
  return ending;
}

let isStopped = false; // later failures are a result of the stop
const interrupted = 130;

async function main(wanted: Wanted): Promise<number> {
  try {
    const tallies: Tally[] = [];
    for (const part of partNames.filter((name) => wanted.only.includes(name))) {
      if (isStopped) return interrupted;
      const tally = await parts[part](wanted);
      if (tally === undefined) continue; // this part prints figures and checks nothing
      say(`${part}: ${toText(tally)}`);
      tallies.push(tally);
    }
    if (tallies.length === 0) return 0;
    console.log(toText(sum(tallies)));
    return isGood(sum(tallies)) ? 0 : 1;
  } catch (error) {
    if (!isStopped) console.error(error);
    return isStopped ? interrupted : 1;
  } finally {
    await endAll();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    isStopped = true;
    say('stopping');
    void endAll().finally(() => process.exit(interrupted));
  });

const program = new Command('cluster')
  .description('Runs tests, measurements and faults against Temporal servers on PostgreSQL.')
  .argument('[files...]', 'test files for the part "tests"; default: those for which the server matters')
  .option('--only <parts>', `some of ${partNames.join(',')}`, toParts, partNames)
  .option(
    '--rounds <n>',
    'how often the bench measures each side; medians are shown',
    numberUpTo(20, { isWhole: true }),
    3,
  )
  .option('--servers <n>', 'server processes of the faults: 1 or 3', toServers, 3)
  .option('--minutes <n>', 'how long the faults last', numberUpTo(600, { isWhole: false }), 10)
  .option(
    '--seed <n>',
    'the same seed and time give the same faults and work',
    numberUpTo(2 ** 31, { isWhole: true }),
    1,
  )
  .addHelpText(
    'after',
    '\nTakes about half an hour on two idle cores, and a few more when the server must be built first.',
  )
  .action(async (files: string[], flags: Omit<Wanted, 'files'>) => process.exit(await main({ ...flags, files })));
await program.parseAsync();
