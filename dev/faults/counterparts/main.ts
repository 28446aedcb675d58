import { Command, InvalidArgumentError } from 'commander';
import { ServerNotFound } from '../../stack/temporal/find-server.js';
import type { OnEnd } from '../cluster/start-cluster.js';
import { isGood, toText as tallyText } from '../cluster/tally.js';
import { fuzz } from './fuzz.js';
import { load } from './load.js';
import { messages } from './messages.js';
import { proxies } from './proxies.js';
import { type Row, tallyOf, toText, type Wanted } from './report.js';
import { telemetry } from './telemetry.js';
import { tokens } from './tokens.js';
import { ToolMissing } from './tools.js';

type Flags = Omit<Wanted, 'say' | 'onEnd'>;

const parts = { tokens, proxies, load, messages, fuzz, telemetry } satisfies Record<
  string,
  (wanted: Wanted) => Promise<Row[]>
>;
type Part = keyof typeof parts;
const partNames = Object.keys(parts) as Part[];

const startedAt = Date.now();

function say(line: string): void {
  const seconds = Math.round((Date.now() - startedAt) / 1_000);
  process.stderr.write(`counterparts ${String(seconds).padStart(4)} s  ${line}\n`);
}

function toPart(text: string, others: Part[] = []): Part[] {
  const part = partNames.find((name) => name === text);
  if (part === undefined) throw new InvalidArgumentError(`must be some of ${partNames.join(', ')}.`);
  return [...others, part];
}

function toNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`must be a number, ${least} to ${most}.`);
  };
}

const notToBeHad = 2;

/** A part whose programs are not to be had is told, and the others still run. */
async function main(wanted: Part[], flags: Flags): Promise<number> {
  const rows: Row[] = [];
  const missing: string[] = [];
  for (const part of partNames.filter((name) => wanted.includes(name))) {
    say(`${part} begins`);
    const ends: Parameters<OnEnd>[0][] = [];
    try {
      rows.push(...(await parts[part]({ ...flags, say, onEnd: (end) => void ends.unshift(end) })));
    } catch (error) {
      if (error instanceof ToolMissing || error instanceof ServerNotFound)
        missing.push(`${part} was not run: ${error.message}`);
      else {
        console.error(error);
        const reason = error instanceof Error ? error.message : String(error);
        rows.push({ tool: part, version: '', tried: 'to run to its end', came: 'it did not', wrong: [reason] });
      }
    } finally {
      for (const end of ends) await Promise.resolve(end()).catch((error: Error) => say(error.message));
    }
  }
  if (rows.length > 0) console.log([toText(rows), tallyText(tallyOf(rows))].join('\n'));
  for (const line of missing) console.error(line);
  if (missing.length > 0 && tallyOf(rows).failed === 0) return notToBeHad;
  return isGood(tallyOf(rows)) ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130)); // children die with us

const program = new Command('counterparts')
  .description('Meets worker, ingress and codec endpoint with programs that others wrote, and judges what came of it.')
  .argument('[parts...]', `some of ${partNames.join(', ')}; default: all`, toPart, undefined)
  .option('--minutes <n>', 'how long proxies disturb, and load lasts', toNumber(0.5, 600), 10)
  .option('--seed <n>', 'the same seed and time give the same work and faults', toNumber(1, 2 ** 31), 1)
  .addHelpText(
    'after',
    `
Fetches its programs once into ~/.cache/faretrail: it needs npm, Go 1.26 and Python 3. Takes about half an hour, and six minutes more to build Jaeger once.
Ends with 1 when a promise did not hold, and with 2 when a program is not to be had.`,
  )
  .action(async (wanted: Part[], flags: Flags) =>
    process.exit(await main(wanted.length > 0 ? wanted : partNames, flags)),
  );
await program.parseAsync();
