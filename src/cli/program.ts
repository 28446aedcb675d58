import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { addCallCommand } from './call.js';
import { addCodecCommand } from './codec.js';
import {
  type Act,
  type CliProcess,
  type CommonOptions,
  createContext,
  programName,
  type RunCommand,
  withProgramName,
} from './command.js';
import { addParkedChanges, addParkedCommand } from './delivery/parked.js';
import { addDeliverCommand } from './delivery/send.js';
import { addDoctorCommand } from './doctor/doctor.js';
import { exitCodes, toCliError } from './failure.js';
import { addChangeCommands } from './order/change.js';
import { addTrackCommand } from './order/follow.js';
import { addListCommand } from './order/list.js';
import { addShowCommand } from './order/show.js';
import { addWatchCommand } from './order/watch.js';
import { addResolveRideCommand, addRideChanges, addRideCommand } from './ride/commands.js';
import { addSubscriptionChanges } from './subscription/change.js';
import { addSubscribeCommand } from './subscription/create.js';
import { addSubscriptionsCommand } from './subscription/list.js';
import { toJsonLine, toLines } from './text.js';
import { addTokensCommand } from './token.js';

/** In the order of the help. */
const additions: readonly ((program: Command, run: RunCommand) => void)[] = [
  addTrackCommand,
  addShowCommand,
  addWatchCommand,
  addChangeCommands,
  addListCommand,
  addRideCommand,
  addRideChanges,
  addResolveRideCommand,
  addCallCommand,
  addSubscribeCommand,
  addSubscriptionsCommand,
  addSubscriptionChanges,
  addParkedCommand,
  addParkedChanges,
  addTokensCommand,
  addDeliverCommand,
  addDoctorCommand,
  addCodecCommand,
];

const helpEnd = `
Settings come from the environment: TEMPORAL_* and FARETRAIL_*.
Results go to stdout, errors and hints to stderr; times are UTC.
With --json: one JSON document on stdout (watch: one line for each change), errors as
{"error":{"code","message"}} on stderr.
Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 not found.

Examples:
  faretrail track partner 42 --watch
  faretrail list --attention
  faretrail doctor`;

/** Runs one command line (without node and script) and gives the exit code. Never throws. */
export async function runCli(argv: readonly string[], process: CliProcess): Promise<number> {
  let exitCode: number = exitCodes.done;
  const run: RunCommand =
    (act) =>
    async (...given) => {
      exitCode = await start(act, given, process);
    };
  try {
    await createProgram(run, process).parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done; // help and version
    return tellError(error, argv, process);
  }
}

/** Commander gives the arguments, then the options, then the command; it has checked them as the command declares. */
function start<Arguments extends unknown[], Options extends CommonOptions>(
  act: Act<Arguments, Options>,
  given: unknown[],
  process: CliProcess,
): Promise<number> {
  const options = given.at(-2) as Options;
  return act(createContext(process, options), given.slice(0, -2) as Arguments, options);
}

function createProgram(run: RunCommand, { stdout, stderr, env }: CliProcess): Command {
  const program = new Command(programName(env))
    .description('Follows ride orders durably, and shows what became of them.')
    .version(readVersion(), '--version', 'print the version')
    .helpOption('--help', 'explain the command')
    .helpCommand(false)
    .addHelpText('after', helpEnd)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(withProgramName(text, env)),
      writeErr: (text) => void stderr.write(withProgramName(text, env)),
      outputError: () => {}, // told with the other errors
    });
  for (const add of additions) add(program, run);
  for (const command of program.commands) command.option('--json', 'print JSON');
  return program;
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

/** Two folders up from the sources, three from the compiled files. */
function readVersion(): string {
  for (const place of ['../../package.json', '../../../package.json']) {
    try {
      const { version } = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')) as { version: string };
      return version;
    } catch {
      // the other one
    }
  }
  return 'unknown';
}
