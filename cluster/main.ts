import { setTimeout as pause } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { measure } from './measure.js';
import { restartDatabase } from './restart-database.js';
import { runTests } from './run-tests.js';
import { type Cluster, startCluster } from './start-cluster.js';
import { isGood, sum, type Tally, toText } from './tally.js';

interface Wanted {
  only: Part[];
  rounds: number;
  files: string[];
}

const ends: (() => void | Promise<void>)[] = [];
const onEnd = (end: () => void | Promise<void>) => void ends.unshift(end);

const parts = {
  tests: (cluster: Cluster, { files }: Wanted) => runTests(cluster, files, onEnd),
  bench: (cluster: Cluster, { rounds }: Wanted) => measure(cluster, rounds, say),
  restart: (cluster: Cluster) => restartDatabase(cluster, say, onEnd),
} satisfies Record<string, (cluster: Cluster, wanted: Wanted) => Promise<Tally | undefined>>;
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

function toRounds(text: string): number {
  const rounds = Number(text);
  if (/^\d+$/.test(text) && rounds >= 1 && rounds <= 20) return rounds;
  throw new InvalidArgumentError('must be a whole number, 1 to 20.');
}

let starting: Promise<Cluster> | undefined;
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
    starting = startCluster(say, onEnd);
    const cluster = await starting;
    const tallies: Tally[] = [];
    for (const part of partNames.filter((name) => wanted.only.includes(name))) {
      if (isStopped) return interrupted;
      const tally = await parts[part](cluster, wanted);
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
  .description('Runs tests and measurements against a Temporal server on PostgreSQL with several history shards.')
  .argument('[files...]', 'test files for the part "tests"; default: those for which the server matters')
  .option('--only <parts>', `some of ${partNames.join(',')}`, toParts, partNames)
  .option('--rounds <n>', 'how often the bench measures each side; medians are shown', toRounds, 3)
  .addHelpText(
    'after',
    '\nTakes about 20 minutes on two idle cores, and a few more when the server must be built first.',
  )
  .action(async (files: string[], flags: Omit<Wanted, 'files'>) => process.exit(await main({ ...flags, files })));
await program.parseAsync();
