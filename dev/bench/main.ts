import { Command, InvalidArgumentError } from 'commander';
import { progress } from '../stack/run/progress.js';
import { findDevServer } from '../stack/temporal/dev-server.js';
import { projectRoot } from '../stack/temporal/project-root.js';
import { runCommand } from '../stack/temporal/run-command.js';
import { benchActions } from './actions.js';
import { benchBurst } from './burst.js';
import { benchCalls } from './calls.js';
import { benchDesk } from './desk.js';
import { benchFollow, followParts } from './follow.js';
import { benchIngress, ingressParts } from './ingress.js';
import { benchOrders } from './orders.js';
import { benchPolls, pollParts } from './polls.js';
import { type Listing, type Measure, type Summary, summarize, toListing, toTable } from './report.js';
import type { Rounds } from './rounds.js';
import type { TemporalSource } from './site.js';
import { watchStolenTime } from './stolen-time.js';
import { benchStore } from './store.js';
import { benchWatched } from './watched.js';

/** A flag of the command line that is a whole number above 0: what it says, its most and its default. */
type NumberFlag = readonly [about: string, most: number, byDefault: number];

/** A measurement beside another side. */
interface Bench {
  name: string;
  beside: string;
  takes: string;
  flags: Record<string, NumberFlag>;
  /** Its parts, where it has some. */
  parts?: readonly string[];
  /** Flags where `all` differs from the defaults; null: it is no part of `all`. */
  inAll: Record<string, number> | null;
  run(asked: Asked): Promise<Measure[]>;
}

/** Flags that a bench does not have are not there. */
interface Asked extends Rounds {
  temporal: TemporalSource;
  only: readonly string[];
  orders: number;
  live: number;
  seconds: number;
}

const orders: NumberFlag = ['orders in each round', 20_000, 1_000];

const benches: Record<string, Bench> = {
  follow: {
    ...{ name: 'following orders', beside: 'a plain tracker that sleeps and polls', parts: followParts, inAll: {} },
    takes: '15 minutes, and 15 with --only memory --rounds 1 --live 10000,',
    flags: {
      orders: ['live orders of 20 s over real HTTP', 2_000, 60],
      live: ['live orders on one worker process', 20_000, 1_000],
    },
    run: benchFollow,
  },
  ingress: {
    ...{ name: 'taking deliveries', beside: 'a bare route, a bare client, or the journal off', parts: ingressParts },
    takes: '17 minutes (a look at all: --rounds 1 --seconds 10, 4 minutes)',
    flags: { seconds: ['how long each load on a schedule lasts', 600, 60] },
    ...{ inAll: {}, run: benchIngress },
  },
  orders: {
    ...{ name: 'whole announced orders', beside: 'a bare workflow that takes signals and reads nothing' },
    takes: '9 minutes (a look: --rounds 1 --orders 200, 2 minutes)',
    ...{ flags: { orders }, inAll: {}, run: benchOrders },
  },
  polls: {
    ...{ name: 'polls of live orders', beside: 'a plain tracker that sleeps and polls', parts: pollParts },
    takes: 'an hour (a look: --rounds 1 --orders 250 --only costs,visible,memory, 9 minutes)',
    flags: { orders: ['live orders of each side', 20_000, 2_000] },
    ...{ inAll: { orders: 500 }, run: benchPolls },
  },
  calls: {
    ...{ name: 'reading an order once', beside: 'the HTTP request alone', takes: '2 minutes' },
    ...{ flags: {}, inAll: {}, run: benchCalls },
  },
  store: {
    ...{ name: 'recording changes in PostgreSQL', beside: 'without a store' },
    takes: '12 minutes (a look: --rounds 1 --orders 300, 4 minutes)',
    ...{ flags: { orders }, inAll: null, run: benchStore },
  },
};

function wholeNumber(most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= 1 && number <= most) return number;
    throw new InvalidArgumentError(`must be a whole number, 1 to ${most}.`);
  };
}

const partsOf =
  (known: readonly string[]) =>
  (text: string): string[] => {
    const asked = text.split(',').map((word) => word.trim());
    if (asked.every((part) => known.includes(part))) return asked;
    throw new InvalidArgumentError(`must be some of ${known.join(',')}.`);
  };

const tell = progress('bench');
const stolenShare = watchStolenTime();
const worthSaying = 0.03; // of the CPU time

function say(line: string): void {
  const stolen = stolenShare();
  if (stolen >= worthSaying) tell(`(the host took ${Math.round(stolen * 100)} % of the CPU away since the line above)`);
  tell(line);
}

type Flags = Omit<Asked, 'say' | 'temporal'> & { json: boolean };

/** Measures, and prints one table, or JSON with all rounds, with the version of the server. */
async function measure(names: readonly string[], flagsOf: (name: string) => Flags): Promise<void> {
  const program = await findDevServer(say);
  const version = (await runCommand(program, ['--version'], { cwd: projectRoot, timeLimitMs: 10_000 })).trim();
  const results: Record<string, Summary[]> = {};
  for (const name of names) {
    const measures = await benches[name]?.run({ ...flagsOf(name), temporal: { program }, say });
    results[name] = (measures ?? []).map(summarize);
  }
  say('ended');
  if (flagsOf(names[0] ?? '').json) return console.log(JSON.stringify({ server: { version }, ...results }, null, 2));
  const groups = Object.entries(results).flatMap(([name, summaries]) =>
    benches[name] ? [{ ...benches[name], summaries }] : [],
  );
  console.log([toTable(groups), `Temporal: ${version}`].join('\n'));
}

const program = new Command('bench').description('Measures this worker beside others, in one run on one machine.');

function addCommand(name: string, description: string, takes: string, flags: Record<string, NumberFlag>): Command {
  const command = program
    .command(name, { isDefault: name === 'all' })
    .description(description)
    .option('--json', 'print JSON with all rounds', false)
    .addHelpText('after', `\nTakes about ${takes} on two idle cores.`);
  for (const [flag, [about, most, byDefault]] of Object.entries(flags))
    command.option(`--${flag} <n>`, about, wholeNumber(most), byDefault);
  return command;
}

const rounds: NumberFlag = [
  'how often each side is measured; medians are shown. Long rides and memory: half as often',
  20,
  3,
];

addCommand(
  'all',
  'everything below but store, burst, watched, desk and actions, in one table (the default)',
  '90 minutes',
  {
    rounds,
  },
).action(async (flags: Flags) => {
  const inAll = Object.keys(benches).filter((name) => benches[name]?.inAll);
  await measure(inAll, (name) => {
    const { flags: own = {}, inAll: other, parts = [] } = benches[name] ?? {};
    const byDefault = Object.fromEntries(Object.entries(own).map(([flag, [, , value]]) => [flag, value]));
    return { ...flags, ...byDefault, ...other, only: parts } as Flags;
  });
});

for (const [name, { name: what, beside, takes, flags, parts }] of Object.entries(benches)) {
  const command = addCommand(name, `${what}, beside ${beside}`, takes, { rounds, ...flags });
  if (parts) command.option('--only <parts>', `some of ${parts.join(',')}`, partsOf(parts), [...parts]);
  command.action((given: Flags) => measure([name], () => given));
}

/** Prints a listing without anything beside it. */
const list =
  <Given>(bench: (options: Given & { temporal: TemporalSource; say: typeof say }) => Promise<Listing>) =>
  async ({ json, ...flags }: Given & { json: boolean }): Promise<void> => {
    const temporal = { program: await findDevServer(say) };
    const listing = await bench({ ...flags, temporal, say } as Parameters<typeof bench>[0]);
    console.log(json ? JSON.stringify(listing, null, 2) : toListing(listing));
  };

addCommand(
  'burst',
  'very many starts at once, into one worker with a small heap',
  '20 minutes (a look: --starts 500 --rides 200 --heap 128, a minute)',
  {
    starts: ['orders to follow', 20_000, 20_000],
    rides: ['rides to request', 2_000, 2_000],
    kilobytes: ['size of the body of each ride', 65, 64],
    heap: ['limit of each heap of the worker, MiB', 4_096, 512],
  },
).action(list(benchBurst));

addCommand(
  'watched',
  'very many live orders that are polled, with one worker and everything else on this machine',
  '20 minutes (a look: --orders 1000 --accounts 5 --minutes 1, 3 minutes)',
  {
    orders: ['live orders', 50_000, 10_000],
    accounts: ['accounts that share them', 1_000, 30],
    'per-second': ['requests per second of each account', 1_000, 16],
    minutes: ['how long they are polled', 600, 10],
  },
).action(list(benchWatched));

addCommand('desk', 'pages of the desk over very many orders, and what live pages cost the store', '3 minutes', {
  orders: ['orders in the store', 1_000_000, 100_000],
  viewers: ['live pages', 500, 50],
  seconds: ['how long they are open', 600, 30],
}).action(list(benchDesk));

addCommand(
  'actions',
  'actions, events and writes of orders, rides, subscriptions and accounts, by the count of the server',
  '11 minutes',
  {},
).action(list(benchActions));

program.parseAsync().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
