import { Command, InvalidArgumentError } from 'commander';
import { ServerNotFound } from '../../stack/temporal/find-server.js';
import { isGood, toText as tallyText } from '../cluster/tally.js';
import { numberUpTo, openEnds, openProfile, seedFlag, someOf } from '../profile.js';
import { fuzz } from './fuzz.js';
import { kubernetes } from './kubernetes.js';
import { messages } from './messages.js';
import { networks } from './networks.js';
import { proxies } from './proxies.js';
import { type Row, tallyOf, toText, type Wanted } from './report.js';
import { telemetry } from './telemetry.js';
import { tokens } from './tokens.js';
import { ToolMissing } from './tools.js';

type Flags = Omit<Wanted, 'say' | 'onEnd'>;

const parts = { tokens, proxies, networks, messages, fuzz, telemetry, kubernetes } satisfies Record<
  string,
  (wanted: Wanted) => Promise<Row[]>
>;
type Part = keyof typeof parts;
const partNames = Object.keys(parts) as Part[];

const { say, onEnd, exitWith } = openProfile('counterparts');
const notToBeHad = 2;

/** A part whose programs are not to be had is told, and the others still run. */
async function run(wanted: readonly Part[], flags: Flags): Promise<number> {
  const rows: Row[] = [];
  const missing: string[] = [];
  for (const part of partNames.filter((name) => wanted.includes(name))) {
    say(`${part} begins`);
    const own = openEnds(say);
    onEnd(own.endAll);
    try {
      rows.push(...(await parts[part]({ ...flags, say, onEnd: own.onEnd })));
    } catch (error) {
      if (error instanceof ToolMissing || error instanceof ServerNotFound)
        missing.push(`${part} was not run: ${error.message}`);
      else {
        console.error(error);
        const reason = error instanceof Error ? error.message : String(error);
        rows.push({ tool: part, version: '', tried: 'to run to its end', came: 'it did not', wrong: [reason] });
      }
    } finally {
      await own.endAll();
    }
  }
  if (rows.length > 0) console.log([toText(rows), tallyText(tallyOf(rows))].join('\n'));
  for (const line of missing) console.error(line);
  if (missing.length > 0 && tallyOf(rows).failed === 0) return notToBeHad;
  return isGood(tallyOf(rows)) ? 0 : 1;
}

function toMinutes(text: string): number {
  const minutes = numberUpTo(600, { isWhole: false })(text);
  if (minutes >= 0.5) return minutes;
  throw new InvalidArgumentError('must be at least 0.5.');
}

const toPart = (text: string, others: Part[] = []): Part[] => [...others, ...someOf(partNames)(text)];

await new Command('counterparts')
  .description('Meets worker, ingress and codec endpoint with programs that others wrote, and judges what came of it.')
  .argument('[parts...]', `some of ${partNames.join(', ')}; default: all`, toPart, undefined)
  .option('--minutes <n>', 'how long proxies disturb', toMinutes, 10)
  .option(...seedFlag)
  .addHelpText(
    'after',
    `
Fetches its programs once into ~/.cache/faretrail: it needs npm, Go 1.26 and Python 3. Takes about half an hour, and some fifteen minutes more to build Jaeger and Kubernetes once.
Ends with 1 when a promise did not hold, and with 2 when a program is not to be had.`,
  )
  .action((wanted: Part[], flags: Flags) => exitWith(() => run(wanted.length > 0 ? wanted : partNames, flags)))
  .parseAsync();
