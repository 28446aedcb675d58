import { Command, CommanderError } from 'commander';
import { version } from '../version.js';
import { knownArgument } from './arguments.js';
import { attentionCommand } from './attention.js';
import { callCommand } from './call.js';
import { codecCommand } from './codec.js';
import {
  type Act,
  type CliProcess,
  type CommandSpec,
  type CommonOptions,
  commonOptions,
  createContext,
  type Noun,
  programName,
  withProgramName,
} from './command.js';
import { deliveryCommands } from './delivery/parked.js';
import { doctorCommand } from './doctor.js';
import { eraseCommand } from './erase.js';
import { exitCodes, toCliError } from './failure.js';
import { noticeCommands } from './notice.js';
import { orderCommands } from './order/commands.js';
import { probeCommand } from './probe/probe.js';
import { replayCommand } from './replay.js';
import { rideCommands } from './ride.js';
import { subscriptionCommands } from './subscription.js';
import { toJsonLine, toLines } from './text.js';
import { tokenCommands } from './token.js';

/** All commands, in the order of the help: nouns with their verbs, and commands of their own. */
export const entries: readonly (CommandSpec | Noun)[] = [
  orderCommands,
  rideCommands,
  subscriptionCommands,
  deliveryCommands,
  noticeCommands,
  callCommand,
  tokenCommands,
  attentionCommand,
  doctorCommand,
  probeCommand,
  replayCommand,
  eraseCommand,
  codecCommand,
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
  const run = async (command: Command, act: Act<never>): Promise<void> => {
    const given = command.registeredArguments.map((argument, at) => [argument.name(), command.processedArgs[at]]);
    const context = createContext(process, command.opts<CommonOptions>());
    // Commander has parsed them as the command declares.
    exitCode = await act(context, Object.assign(Object.fromEntries(given), command.opts()) as never);
  };
  try {
    await createProgram(process, run).parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done; // help and version
    return tellError(error, argv, process);
  }
}

type RunCommand = (command: Command, act: Act<never>) => Promise<void>;

function createProgram({ stdout, stderr, env }: CliProcess, run: RunCommand): Command {
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
    if ('verbs' in entry) addNoun(program, run, entry);
    else addCommand(program, run, entry);
  }
  return program;
}

/** The overview shows names alone, so that each command has one line. */
const argumentsOf = (command: Command): string[] =>
  command.parent?.parent ? command.registeredArguments.map((argument) => `<${argument.name()}>`) : [];

function addNoun(program: Command, run: RunCommand, { noun, does, verbs }: Noun): void {
  const parent = program.command(noun).description(does).usage('<command> [options]').helpCommand(false);
  const examples = verbs.map((verb) => addCommand(parent, run, verb));
  parent.addHelpText('after', ['\nExamples:', ...examples].join('\n'));
}

/** Adds a command, and gives the first of its examples. */
function addCommand(parent: Command, run: RunCommand, spec: CommandSpec): string {
  const { form, does, options = [], examples = [''], more = '', act } = spec;
  const [name = '', ...names] = form.split(' ');
  const command = parent.command(name).description(does);
  for (const argument of names) command.addArgument(knownArgument(argument));
  for (const option of [...options, ...commonOptions()]) command.addOption(option);
  const words = ['faretrail', ...(parent.parent ? [parent.name()] : []), name];
  const lines = examples.map((example) => `  ${[...words, example].join(' ').trimEnd()}`);
  const text = more === '' ? [] : ['', more.trim()];
  command.addHelpText('after', [...text, '', lines.length > 1 ? 'Examples:' : 'Example:', ...lines].join('\n'));
  command.action(() => run(command, act));
  return lines[0] ?? '';
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
