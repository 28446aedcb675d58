import { Command, InvalidArgumentError } from 'commander';
import { type BurstPart, benchBurst, burstParts, toBurstTable } from './burst.js';
import { benchCalls } from './calls.js';
import { benchEncryption } from './encryption.js';
import { benchFollow, type FollowPart, followParts } from './follow.js';
import { benchIngress, type IngressPart, ingressParts } from './ingress.js';
import { type Group, type Summary, toTable } from './report.js';
import { watchStolenTime } from './stolen-time.js';

interface SharedFlags {
  rounds: number;
  json: boolean;
}

interface FollowFlags extends SharedFlags {
  orders: number;
  live: number;
  only: FollowPart[];
}

interface IngressFlags extends SharedFlags {
  seconds: number;
  only: IngressPart[];
}

interface BurstFlags {
  starts: number;
  rides: number;
  kilobytes: number;
  heap: number;
  json: boolean;
  only: BurstPart[];
}

/** Each bench by its command: what it measures, and the comparison. */
const benches = {
  follow: { name: 'following orders', beside: 'a plain tracker that sleeps and polls' },
  ingress: { name: 'taking deliveries', beside: 'a bare route, a bare client, or the journal off' },
  calls: { name: 'business calls', beside: 'the same call made directly' },
  encryption: { name: 'following orders with payload encryption', beside: 'without' },
} as const satisfies Record<string, Pick<Group, 'name' | 'beside'>>;

type Bench = keyof typeof benches;

function wholeNumber(max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= 1 && number <= max) return number;
    throw new InvalidArgumentError(`must be a whole number, 1 to ${max}.`);
  };
}

const partsOf =
  <Part extends string>(known: readonly Part[]) =>
  (text: string): Part[] => {
    const asked = text.split(',').map((word) => known.find((part) => part === word.trim()));
    if (asked.every((part) => part !== undefined)) return asked;
    throw new InvalidArgumentError(`must be some of ${known.join(',')}.`);
  };

const startedAt = Date.now();
const stolenShare = watchStolenTime();
const worthSaying = 0.03; // of the CPU time

function say(line: string): void {
  const seconds = Math.round((Date.now() - startedAt) / 1_000);
  const head = `bench ${String(seconds).padStart(4)} s  `;
  const stolen = stolenShare();
  const note = `(the host took ${Math.round(stolen * 100)} % of the CPU away since the line above)`;
  process.stderr.write(`${stolen < worthSaying ? '' : `${head}${note}\n`}${head}${line}\n`);
}

type Results = Partial<Record<Bench, readonly Summary[]>>;

function print(results: Results, json: boolean): void {
  say('ended');
  const groups = Object.entries(results).map(([bench, summaries]) => ({ ...benches[bench as Bench], summaries }));
  console.log(json ? JSON.stringify(results, null, 2) : toTable(groups));
}

const program = new Command('bench').description('Measures this worker beside others, in one run on one machine.');

function command(name: string, description: string, takes: string): Command {
  return program
    .command(name, { isDefault: name === 'all' })
    .description(description)
    .option(
      '--rounds <n>',
      'how often each side is measured; medians are shown. Long rides and memory: half as often',
      wholeNumber(20),
      3,
    )
    .option('--json', 'print JSON with all rounds', false)
    .addHelpText('after', `\nTakes about ${takes} on two idle cores.`);
}

const beside = (bench: Bench): string => `${benches[bench].name}, beside ${benches[bench].beside}`;

command('all', 'everything below, in one table (the default)', 'half an hour').action(async (flags: SharedFlags) => {
  const { rounds, json } = flags;
  const results: Results = {
    follow: await benchFollow({ rounds, orders: 60, live: 1_000, only: followParts, say }),
    ingress: await benchIngress({ rounds, seconds: 60, only: ingressParts, say }),
    calls: await benchCalls({ rounds, say }),
    encryption: await benchEncryption({ rounds, say }),
  };
  print(results, json);
});

command('follow', beside('follow'), '6 minutes, and 15 with --only memory --rounds 1 --live 10000,')
  .option('--orders <n>', 'live orders of 20 s over real HTTP', wholeNumber(2_000), 60)
  .option('--live <n>', 'live orders on one worker process', wholeNumber(20_000), 1_000)
  .option('--only <parts>', `some of ${followParts.join(',')}`, partsOf(followParts), [...followParts])
  .action(async ({ json, ...flags }: FollowFlags) => print({ follow: await benchFollow({ ...flags, say }) }, json));

command('ingress', beside('ingress'), '17 minutes (a look at all: --rounds 1 --seconds 10, 4 minutes)')
  .option('--seconds <n>', 'how long each load on a schedule lasts', wholeNumber(600), 60)
  .option('--only <parts>', `some of ${ingressParts.join(',')}`, partsOf(ingressParts), [...ingressParts])
  .action(async ({ json, ...flags }: IngressFlags) => print({ ingress: await benchIngress({ ...flags, say }) }, json));

command('calls', beside('calls'), '2 minutes').action(async ({ rounds, json }: SharedFlags) =>
  print({ calls: await benchCalls({ rounds, say }) }, json),
);

command('encryption', beside('encryption'), '3 minutes').action(async ({ rounds, json }: SharedFlags) =>
  print({ encryption: await benchEncryption({ rounds, say }) }, json),
);

program
  .command('burst')
  .description('very many starts at once, into one worker with a small heap; not a part of all')
  .option('--starts <n>', 'orders to follow', wholeNumber(20_000), 20_000)
  .option('--rides <n>', 'rides to request', wholeNumber(2_000), 2_000)
  .option('--kilobytes <n>', 'size of the body of each ride', wholeNumber(65), 64)
  .option('--heap <MiB>', 'limit of each heap of the worker', wholeNumber(4_096), 512)
  .option('--only <parts>', `some of ${burstParts.join(',')}`, partsOf(burstParts), [...burstParts])
  .option('--json', 'print JSON', false)
  .addHelpText(
    'after',
    '\nTakes about 20 minutes on two idle cores (a look: --starts 500 --rides 200 --heap 128, a minute).',
  )
  .action(async ({ json, heap, ...flags }: BurstFlags) => {
    const results = await benchBurst({ ...flags, heapMebibytes: heap, say });
    console.log(json ? JSON.stringify(results, null, 2) : toBurstTable(results));
  });

program.parseAsync().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
