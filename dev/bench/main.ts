import { Command, InvalidArgumentError } from 'commander';
import { findDevServer } from '../stack/temporal/dev-server.js';
import { type BurstPart, benchBurst, burstParts, toBurstTable } from './burst.js';
import { benchCalls } from './calls.js';
import { dayModes, simulateDay, toDayTable } from './day.js';
import { benchEncryption } from './encryption.js';
import { benchFollow, type FollowPart, followParts } from './follow.js';
import { benchIngress, type IngressPart, ingressParts } from './ingress.js';
import { benchOrders } from './orders.js';
import { benchPolls, type PollPart, pollParts } from './polls.js';
import { type Group, type Listing, type Summary, toListing, toTable } from './report.js';
import { watchStolenTime } from './stolen-time.js';
import { benchStore } from './store.js';
import { type ServerFacts, type ServerProgram, serverFacts, toText } from './temporal-source.js';
import { benchWatched } from './watched.js';

interface SharedFlags {
  rounds: number;
  json: boolean;
  serverDefaults: boolean;
}

interface FollowFlags extends SharedFlags {
  orders: number;
  live: number;
  only: FollowPart[];
}

interface OrdersFlags extends SharedFlags {
  orders: number;
}

interface PollsFlags extends OrdersFlags {
  only: PollPart[];
}

interface IngressFlags extends SharedFlags {
  seconds: number;
  only: IngressPart[];
}

interface DayFlags {
  orders: number;
  accounts: number;
  perSecond: number;
  json: boolean;
}

interface WatchedFlags extends DayFlags {
  minutes: number;
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
  orders: { name: 'whole announced orders', beside: 'a bare workflow that takes signals and reads nothing' },
  polls: {
    name: 'polls of live orders',
    beside: 'a plain tracker that sleeps and polls, and an activity that polls in a loop',
  },
  calls: { name: 'reading an order once', beside: 'the HTTP request alone' },
  encryption: { name: 'following orders with payload encryption', beside: 'without' },
  store: { name: 'recording changes in PostgreSQL', beside: 'without a store' },
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

interface Results extends Partial<Record<Bench, readonly Summary[]>> {
  /** What the figures depend on. */
  server: ServerFacts;
  /** Calls of the database by operation. */
  pollOperations?: Listing;
}

/** The servers of a bench, and what to print about them. */
async function openSource({ serverDefaults }: SharedFlags): Promise<{ temporal: ServerProgram; server: ServerFacts }> {
  const temporal = { program: await findDevServer(say), isTuned: !serverDefaults };
  return { temporal, server: await serverFacts(temporal) };
}

async function pollsOf(options: Parameters<typeof benchPolls>[0]): Promise<Pick<Results, 'polls' | 'pollOperations'>> {
  const { summaries, operations } = await benchPolls(options);
  return { polls: summaries, ...(operations && { pollOperations: operations }) };
}

function print(results: Results, json: boolean): void {
  say('ended');
  if (json) {
    console.log(JSON.stringify(results, null, 2));
    return;
  }
  const groups = (Object.keys(benches) as Bench[]).flatMap((bench) => {
    const summaries = results[bench];
    return summaries ? [{ ...benches[bench], summaries }] : [];
  });
  const { server, pollOperations } = results;
  console.log([toTable(groups), ...(pollOperations ? [toListing(pollOperations)] : []), toText(server)].join('\n'));
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
    .option(
      '--server-defaults',
      "a development server's own settings instead of dev/stack/temporal/dev-server.ts",
      false,
    )
    .addHelpText('after', `\nTakes about ${takes} on two idle cores.`);
}

const beside = (bench: Bench): string => `${benches[bench].name}, beside ${benches[bench].beside}`;

command('all', 'everything below, in one table (the default)', '90 minutes').action(async (flags: SharedFlags) => {
  const { rounds, json } = flags;
  const { temporal, server } = await openSource(flags);
  const shared = { temporal, rounds, say };
  print(
    {
      server,
      follow: await benchFollow({ ...shared, orders: 60, live: 1_000, only: followParts }),
      ingress: await benchIngress({ ...shared, seconds: 60, only: ingressParts }),
      orders: await benchOrders({ ...shared, orders: 1_000 }),
      ...(await pollsOf({ ...shared, orders: 500, only: pollParts })),
      calls: await benchCalls(shared),
      encryption: await benchEncryption(shared),
    },
    json,
  );
});

command('follow', beside('follow'), '15 minutes, and 15 with --only memory --rounds 1 --live 10000,')
  .option('--orders <n>', 'live orders of 20 s over real HTTP', wholeNumber(2_000), 60)
  .option('--live <n>', 'live orders on one worker process', wholeNumber(20_000), 1_000)
  .option('--only <parts>', `some of ${followParts.join(',')}`, partsOf(followParts), [...followParts])
  .action(async (flags: FollowFlags) => {
    const { temporal, server } = await openSource(flags);
    print({ server, follow: await benchFollow({ ...flags, temporal, say }) }, flags.json);
  });

command('ingress', beside('ingress'), '17 minutes (a look at all: --rounds 1 --seconds 10, 4 minutes)')
  .option('--seconds <n>', 'how long each load on a schedule lasts', wholeNumber(600), 60)
  .option('--only <parts>', `some of ${ingressParts.join(',')}`, partsOf(ingressParts), [...ingressParts])
  .action(async (flags: IngressFlags) => {
    const { temporal, server } = await openSource(flags);
    print({ server, ingress: await benchIngress({ ...flags, temporal, say }) }, flags.json);
  });

command('orders', beside('orders'), '9 minutes (a look: --rounds 1 --orders 200, 2 minutes)')
  .option('--orders <n>', 'orders in each round', wholeNumber(20_000), 1_000)
  .action(async (flags: OrdersFlags) => {
    const { temporal, server } = await openSource(flags);
    print({ server, orders: await benchOrders({ ...flags, temporal, say }) }, flags.json);
  });

command('store', beside('store'), '12 minutes (a look: --rounds 1 --orders 300, 4 minutes)')
  .option('--orders <n>', 'orders in each round', wholeNumber(20_000), 1_000)
  .action(async (flags: OrdersFlags) => {
    const { temporal, server } = await openSource(flags);
    print({ server, store: await benchStore({ ...flags, temporal, say }) }, flags.json);
  });

command('polls', beside('polls'), 'an hour (a look: --rounds 1 --orders 250 --only costs,visible,memory, 9 minutes)')
  .option('--orders <n>', 'live orders of each side', wholeNumber(20_000), 2_000)
  .option('--only <parts>', `some of ${pollParts.join(',')}`, partsOf(pollParts), [...pollParts])
  .action(async (flags: PollsFlags) => {
    const { temporal, server } = await openSource(flags);
    print({ server, ...(await pollsOf({ ...flags, temporal, say })) }, flags.json);
  });

command('calls', beside('calls'), '2 minutes').action(async (flags: SharedFlags) => {
  const { temporal, server } = await openSource(flags);
  print({ server, calls: await benchCalls({ ...flags, temporal, say }) }, flags.json);
});

command('encryption', beside('encryption'), '6 minutes').action(async (flags: SharedFlags) => {
  const { temporal, server } = await openSource(flags);
  print({ server, encryption: await benchEncryption({ ...flags, temporal, say }) }, flags.json);
});

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

program
  .command('watched')
  .description(
    'very many live orders that are polled, with one worker and everything else on this machine; not a part of all',
  )
  .option('--orders <n>', 'live orders', wholeNumber(50_000), 10_000)
  .option('--accounts <n>', 'accounts that share them', wholeNumber(1_000), 30)
  .option('--per-second <n>', 'requests per second of each account', wholeNumber(1_000), 16)
  .option('--minutes <n>', 'how long they are polled', wholeNumber(600), 10)
  .option('--json', 'print JSON', false)
  .addHelpText(
    'after',
    '\nTakes about 20 minutes on two idle cores (a look: --orders 1000 --accounts 5 --minutes 1, 3 minutes).',
  )
  .action(async ({ json, ...flags }: WatchedFlags) => {
    const temporal = { program: await findDevServer(say) };
    const listing = await benchWatched({ ...flags, temporal, say });
    console.log(json ? JSON.stringify(listing, null, 2) : toListing(listing));
  });

program
  .command('day')
  .description(
    'a day of orders in virtual time, from the measured costs: rates, cores, actions; needs no server, not a part of all',
  )
  .option('--orders <n>', 'orders of an hour in a day', wholeNumber(2_000_000), 100_000)
  .option('--accounts <n>', 'accounts that share them', wholeNumber(10_000), 3)
  .option('--per-second <n>', 'requests per second of each account', wholeNumber(100_000), 16)
  .option('--json', 'print JSON', false)
  .action(({ orders, accounts, perSecond, json }: DayFlags) => {
    const options = { orders, accounts, requestsPerSecond: perSecond };
    const figures = Object.fromEntries(
      dayModes.map((mode) => {
        say(`day: ${mode}`);
        return [mode, simulateDay(options, mode)];
      }),
    );
    console.log(json ? JSON.stringify(figures, null, 2) : toDayTable(options, figures));
  });

program.parseAsync().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
