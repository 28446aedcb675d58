import { Command, CommanderError } from 'commander';
import { version } from '../version.js';
import { addAttention } from './attention.js';
import { addCall } from './call.js';
import { addCodec } from './codec.js';
import {
  type Act,
  type AddCommand,
  type CliProcess,
  type CommonOptions,
  createContext,
  programName,
  type RunCommand,
  withCommonOptions,
  withProgramName,
} from './command.js';
import { addDiscard, addParked, addRoute } from './delivery/parked.js';
import { addSend } from './delivery/send.js';
import { addDoctor } from './doctor.js';
import { addErase } from './erase/erase.js';
import { exitCodes, toCliError } from './failure.js';
import { addNoticeSecret } from './notice.js';
import { addFollow, addRefresh, addStop } from './order/follow.js';
import { addImport } from './order/import.js';
import { addOrderList, addShow, addWatch } from './order/show.js';
import { addProbe } from './probe/probe.js';
import { addReplay } from './replay.js';
import { addCancel, addRequest, addResolve, addUpdate } from './ride/commands.js';
import { addRideList, addRideShow, addRideWatch } from './ride/view.js';
import { addCreate, addEnd, addMove, addRotate, addSubscriptionList } from './subscription.js';
import { toJsonLine, toLines } from './text.js';
import { addTokenList } from './token.js';

/** A command of its own, or a noun with its verbs. */
type Entry = AddCommand | { noun: string; does: string; verbs: readonly AddCommand[] };

/** All commands, in the order of the help. */
const entries: readonly Entry[] = [
  {
    noun: 'order',
    does: 'follow orders to their end, and show their trails',
    verbs: [addFollow, addImport, addShow, addWatch, addRefresh, addStop, addOrderList],
  },
  {
    noun: 'ride',
    does: 'order rides at the service, change and cancel them',
    verbs: [addRequest, addRideShow, addRideWatch, addUpdate, addCancel, addResolve, addRideList],
  },
  {
    noun: 'subscription',
    does: 'have the service deliver events to the ingress',
    verbs: [addCreate, addSubscriptionList, addRotate, addMove, addEnd],
  },
  {
    noun: 'delivery',
    does: 'place parked deliveries, send a test one',
    verbs: [addParked, addRoute, addDiscard, addSend],
  },
  { noun: 'notice', does: 'what receivers of notices need', verbs: [addNoticeSecret] },
  addCall,
  { noun: 'token', does: "show the fleet's access tokens", verbs: [addTokenList] },
  addAttention,
  addDoctor,
  addProbe,
  addReplay,
  addErase,
  addCodec,
];

const helpEnd = `
To see the commands of a noun: faretrail order --help
Settings come from the environment: TEMPORAL_* and FARETRAIL_*. Every command
takes --address and --namespace, which override TEMPORAL_ADDRESS and
TEMPORAL_NAMESPACE, --as: who decides, and --json: one JSON document on stdout
(watch: one line for each change), errors as {"error":{"code","message"}} on
stderr.
Results go to stdout, errors and hints to stderr; times are UTC.
Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 not found.

Examples:
  faretrail order follow partner 42 --watch
  faretrail attention
  faretrail doctor`;

/** Runs one command line (without node and script) and gives the exit code. Never throws. */
export async function runCli(argv: readonly string[], process: CliProcess): Promise<number> {
  let exitCode: number = exitCodes.done;
  const run: RunCommand =
    <Given>(act: Act<Given>) =>
    async (...all) => {
      const command = all.at(-1) as Command; // commander has parsed the arguments as the command declares
      const given = command.registeredArguments.map((argument, at) => [argument.name(), command.processedArgs[at]]);
      const context = createContext(process, command.opts<CommonOptions>());
      exitCode = await act(context, { ...Object.fromEntries(given), ...command.opts() } as Given);
    };
  try {
    await createProgram(run, process).parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done; // help and version
    return tellError(error, argv, process);
  }
}

function createProgram(run: RunCommand, { stdout, stderr, env }: CliProcess): Command {
  const program = new Command(programName(env))
    .description('follow ride orders durably, and show what became of them')
    .usage('<command> [options]')
    .version(version, '--version', 'print the version')
    .helpOption('--help', 'explain the command')
    .helpCommand(false)
    .configureHelp({
      commandDescription: (command) => command.description().replace(/^[a-z]/, (letter) => letter.toUpperCase()),
      subcommandTerm: (command) => [command.name(), ...argumentsOf(command)].join(' '),
    })
    .addHelpText('after', helpEnd)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(withProgramName(text, env)),
      writeErr: (text) => void stderr.write(withProgramName(text, env)),
      outputError: () => {}, // `tellError` writes it
    });
  for (const entry of entries) {
    if (typeof entry === 'function') entry(program, run);
    else addNoun(program, run, entry);
  }
  for (const command of program.commands.flatMap((one) => (one.commands.length > 0 ? one.commands : [one]))) {
    withCommonOptions(command);
  }
  return program;
}

/** The overview shows names alone, so that each command has one line. */
const argumentsOf = (command: Command): string[] =>
  command.parent?.parent ? command.registeredArguments.map((argument) => `<${argument.name()}>`) : [];

function addNoun(program: Command, run: RunCommand, { noun, does, verbs }: Exclude<Entry, AddCommand>): void {
  const command = program.command(noun).description(does).usage('<command> [options]').helpCommand(false);
  command.addHelpText('after', '\nExamples:'); // each verb adds one of its own
  for (const add of verbs) add(command, run);
}

function tellError(error: unknown, argv: readonly string[], { stderr, env }: CliProcess): number {
  const { code, exitCode, ...told } = toCliError(error);
  const message = withProgramName(told.message, env);
  if (code === 'UsageError' && message === '(outputHelp)') return exitCode; // no command given: the help was printed
  const wantsStack = env.FARETRAIL_LOG_LEVEL === 'debug' || env.FARETRAIL_LOG_LEVEL === 'trace';
  const stack = wantsStack && error instanceof Error && error.stack !== undefined ? { stack: error.stack } : {};
  if (argv.includes('--json')) {
    stderr.write(`${toJsonLine({ error: { code, message, ...stack } })}\n`);
  } else {
    stderr.write(`${toLines(`error: ${message}`)}\n`);
    if (stack.stack) stderr.write(`${toLines(stack.stack)}\n`);
  }
  return exitCode;
}
