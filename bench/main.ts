import { Command, InvalidArgumentError } from 'commander';
import { benchCalls } from './calls.js';
import { benchFollow, type FollowPart, followParts } from './follow.js';
import { benchIngress, type IngressPart, ingressParts } from './ingress.js';
import { type Summary, toTable } from './report.js';

interface FollowFlags {
  rounds: number;
  orders: number;
  live: number;
  only: FollowPart[];
  json: boolean;
}

interface IngressFlags {
  rounds: number;
  seconds: number;
  only: IngressPart[];
  json: boolean;
}

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

function say(line: string): void {
  const seconds = Math.round((Date.now() - startedAt) / 1_000);
  process.stderr.write(`bench ${String(seconds).padStart(4)} s  ${line}\n`);
}

function print(name: string, summaries: readonly Summary[], other: string, json: boolean): void {
  console.log(json ? JSON.stringify({ [name]: summaries }, null, 2) : toTable(summaries, other));
}

const program = new Command('bench').description('Measures this worker beside others, in one run on one machine.');

program
  .command('follow', { isDefault: true })
  .description('following orders: this worker beside a plain tracker that sleeps and polls (the default)')
  .option(
    '--rounds <n>',
    'how often each side is measured; medians are shown. Rides and memory: half as often',
    wholeNumber(20),
    3,
  )
  .option('--orders <n>', 'live orders of 20 s over real HTTP', wholeNumber(2_000), 60)
  .option('--live <n>', 'live orders on one worker process', wholeNumber(20_000), 1_000)
  .option('--only <parts>', `some of ${followParts.join(',')}`, partsOf(followParts), [...followParts])
  .option('--json', 'for machines: all rounds too', false)
  .addHelpText('after', '\nTakes about 6 minutes on two idle cores, and 15 with --only memory --rounds 1 --live 10000.')
  .action(async (flags: FollowFlags) => {
    say(`follow: ${flags.only.join(', ')}; ${flags.rounds} rounds`);
    print('follow', await benchFollow({ ...flags, say }), 'plain tracker', flags.json);
  });

program
  .command('ingress')
  .description('taking deliveries: until the 2xx, through an outage, and until the new status is seen')
  .option('--rounds <n>', 'how often each part is measured; medians are shown', wholeNumber(20), 3)
  .option('--seconds <n>', 'how long each load on a schedule lasts', wholeNumber(600), 60)
  .option('--only <parts>', `some of ${ingressParts.join(',')}`, partsOf(ingressParts), [...ingressParts])
  .option('--json', 'for machines: all rounds too', false)
  .addHelpText(
    'after',
    '\nTakes about 20 minutes on two idle cores; a look at all: --rounds 1 --seconds 10, 4 minutes.',
  )
  .action(async (flags: IngressFlags) => {
    say(`ingress: ${flags.only.join(', ')}; ${flags.rounds} rounds`);
    print('ingress', await benchIngress({ ...flags, say }), 'beside', flags.json);
  });

program
  .command('calls')
  .description('business calls: what it costs to make one durable')
  .option('--rounds <n>', 'how often each side is measured; medians are shown', wholeNumber(20), 3)
  .option('--json', 'for machines: all rounds too', false)
  .addHelpText('after', '\nTakes about 2 minutes on two idle cores.')
  .action(async (flags: Pick<IngressFlags, 'rounds' | 'json'>) => {
    say(`calls: ${flags.rounds} rounds`);
    print('calls', await benchCalls({ ...flags, say }), 'direct call', flags.json);
  });

program.parseAsync().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
