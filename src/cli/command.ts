import type { Client, Connection } from '@temporalio/client';
import type { Command } from 'commander';
import { createFaretrailClient, type FaretrailClient } from '../client/index.js';
import type { CliConfig, Config } from '../config.js';
import { InvalidInput } from '../domain/errors.js';
import type { Env } from '../settings/env-reader.js';
import { connectClient } from '../temporal/connection.js';
import { type FoundRun, runOf } from '../temporal/runs.js';
import { checked, knownArgument } from './arguments.js';
import { type Paint, paintFor, toJsonLine } from './text.js';

/** Stdout or stderr. */
interface TextSink {
  write(text: string): unknown;
  isTTY?: boolean;
}

/** What the process gives to the commands. Only a command that needs the settings reads them. */
export interface CliProcess {
  env: Env;
  stdout: TextSink;
  stderr: TextSink;
  /** `over`: settings to use in place of those of the environment. Throws `ConfigError`. */
  loadSettings(over?: Env): CliConfig;
  /** The same with the client secrets. Throws `ConfigError`. */
  loadSettingsWithSecrets(over?: Env): Config;
  /** How long to wait for the connection to Temporal. Default 5 s, since a person waits. */
  connectWithinMs?: number;
  /** Asks the person at the terminal, and gives the line they type; absent where nobody can be asked. */
  question?: ((text: string) => Promise<string>) | undefined;
  /** The name of the person at the shell. */
  userName: string;
  /** Calls `act` at Ctrl-C, SIGTERM or SIGHUP instead of ending the process. Returns a function that undoes this. */
  onInterrupt(act: () => void): () => void;
}

/** What a command works with. `env` holds the options that override it. */
export interface CommandContext extends CliProcess {
  paint: Paint;
  /** Who decides: the identity under which Temporal keeps what the command does. */
  actor: string;
  isJson: boolean;
  /** The result: `json` as one line, or the text. */
  tell(json: unknown, text: string): void;
  /** A hint beside the result, on stderr. With --json it is left out. */
  note(text: string): void;
  /** Notes each warning. With --json the result has to hold them itself. */
  warn(warnings: readonly string[]): void;
  commandLine: CommandLine;
}

/** Writes a command as the caller can type it, for the same server. */
export type CommandLine = (...words: string[]) => string;

/** Options that every command takes. */
export interface CommonOptions {
  json?: boolean;
  as?: string;
  address?: string;
  namespace?: string;
}

/** Adds the options that every command takes. */
export const withCommonOptions = (command: Command): Command =>
  command
    .option('--json', 'print JSON')
    .option('--address <host:port>', 'server to use in place of TEMPORAL_ADDRESS', checked(toAddress))
    .option('--namespace <name>', 'namespace to use in place of TEMPORAL_NAMESPACE', checked(toNamespace))
    .option('--as <name>', 'who decides, kept in the run; default: your user name', checked(toActor));

function toAddress(text: string): string {
  const [whole, port = '7233'] = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?$/i.exec(text) ?? [];
  if (whole === undefined || Number(port) < 1 || Number(port) > 65_535) {
    throw new InvalidInput('--address: must be a host with its port, such as temporal.example.com:7233');
  }
  return text;
}

function toNamespace(text: string): string {
  if (!/^[^\s\p{C}]{1,255}$/u.test(text)) throw new InvalidInput('--namespace: must be a name without blanks');
  return text;
}

function toActor(text: string): string {
  if (!/^[^\p{C}]{1,100}$/u.test(text) || text.trim() === '') {
    throw new InvalidInput('--as: must be 1 to 100 characters without control characters');
  }
  return text;
}

/** What a command works with, from the process and the common options. */
export function createContext(
  around: CliProcess,
  { json = false, as: actor = around.userName, address, namespace }: CommonOptions,
): CommandContext {
  const { stdout, stderr } = around;
  const env: Env = {
    ...around.env,
    ...(address === undefined ? {} : { TEMPORAL_ADDRESS: address }),
    ...(namespace === undefined ? {} : { TEMPORAL_NAMESPACE: namespace }),
  };
  const paint = paintFor(stdout.isTTY === true, env.NO_COLOR);
  const note = (text: string): void => {
    if (!json) stderr.write(`${text}\n`);
  };
  return {
    ...around,
    env,
    actor,
    isJson: json,
    paint,
    tell: (value, text) => void stdout.write(`${json ? toJsonLine(value) : text}\n`),
    note,
    warn(warnings) {
      for (const warning of warnings) note(`${paint('bad', 'warning:')} ${warning}`);
    },
    commandLine(...words) {
      const same = Object.entries({ address, namespace }).flatMap(([name, value]) =>
        value ? [`--${name}`, value] : [],
      );
      return [programName(env), ...[...words, ...same].map(quoted)].join(' ');
    },
  };
}

const noteEveryMs = 2_000;

/** Notes how far a long command has come, every two seconds. */
export function createProgressNote({ note }: Pick<CommandContext, 'note'>): (text: () => string) => void {
  let notedAt = Date.now();
  return (text) => {
    if (Date.now() - notedAt < noteEveryMs) return;
    notedAt = Date.now();
    note(text());
  };
}

/** Runs a command with its arguments and options by name, and gives the exit code. */
export type Act<Given> = (context: CommandContext, given: Given) => Promise<number>;

/** Turns what a command does into an action of commander. */
export type RunCommand = <Given>(act: Act<Given>) => (...given: unknown[]) => Promise<void>;

/** Adds one command to the program or to a noun. */
export type AddCommand = (parent: Command, run: RunCommand) => void;

/** What the help of a command says. */
interface HelpOf {
  /** One line for the list of commands. */
  does: string;
  /** What follows the command in its examples; default: the command alone. */
  examples?: readonly string[];
  /** Lines of at most 80 columns, between the options and the examples. */
  more?: string;
}

/** A new command below the program or a noun. `form` is its name with its arguments, all of which `knownArgument` knows. */
export function addCommand(parent: Command, form: string, { does, examples = [''], more = '' }: HelpOf): Command {
  const [name = '', ...names] = form.split(' ');
  const command = parent.command(name).description(does);
  for (const argument of names) command.addArgument(knownArgument(argument));
  const words = ['faretrail', ...(parent.parent ? [parent.name()] : []), name];
  const lines = examples.map((example) => `  ${[...words, example].join(' ').trimEnd()}`);
  if (parent.parent) parent.addHelpText('after', lines[0] ?? '');
  const text = more === '' ? [] : ['', more.trim()];
  return command.addHelpText('after', [...text, '', lines.length > 1 ? 'Examples:' : 'Example:', ...lines].join('\n'));
}

/** What a command works with that has a connection to Temporal. */
export interface Session extends CommandContext {
  client: Client;
  /** The typed client, for everything that other services can do too. */
  rides: FaretrailClient;
  connection: Connection;
  namespace: string;
  address: string;
  config: CliConfig;
  /** Sets the deadline of the calls to Temporal in `act`; they have none of their own. */
  within<T>(ms: number, act: () => Promise<T>): Promise<T>;
  /** The newest run with this workflow id; undefined when Temporal remembers none. Needs no worker. */
  find(workflowId: string): Promise<FoundRun | undefined>;
}

const defaultConnectWithinMs = 5_000;

/** For calls that need no worker. */
export const callTimeoutMs = 10_000;
/** For queries: long enough for a busy worker, short enough for a person who waits. */
export const queryTimeoutMs = 5_000;

/** Reads the settings, connects, and closes the connection after `act`. */
export async function withSession<T>(context: CommandContext, act: (session: Session) => Promise<T>): Promise<T> {
  const config = context.loadSettings();
  const { client, connection, namespace, address } = await connectClient(context.env, {
    withinMs: context.connectWithinMs ?? defaultConnectWithinMs,
    identity: context.actor,
  });
  const within: Session['within'] = (ms, call) => connection.withDeadline(Date.now() + ms, call);
  try {
    const rides = createFaretrailClient({ client, taskQueue: config.taskQueue });
    const find: Session['find'] = (workflowId) => runOf(client, workflowId).find({ withinMs: callTimeoutMs });
    return await act({ ...context, client, rides, connection, namespace, address, config, within, find });
  } finally {
    await connection.close();
  }
}

type SessionAct<Input> = (session: Session, input: Input) => Promise<number>;

/** A command that needs a connection. */
export const inSession =
  <Input>(act: SessionAct<Input>): Act<Input> =>
  (context, input) =>
    withSession(context, (session) => act(session, input));

/** The same for input that has to be read first: wrong usage ends the command before it connects. */
export const reading =
  <Given, Input>(read: (given: Given, context: CommandContext) => Input, act: SessionAct<Input>): Act<Given> =>
  async (context, given) =>
    await inSession(act)(context, read(given, context));

/** In a checkout `faretrail` is not on the path, so a caller who ran the npm script sees the npm script. */
export const programName = (env: Env): string =>
  env.npm_lifecycle_event === 'starter' ? 'npm run starter --' : 'faretrail';

/** Puts the caller's program name into the commands of a text, found at the start of an indented line or after a colon. */
export const withProgramName = (text: string, env: Env): string =>
  text.replaceAll(/(?<=^ {2}|: )faretrail (?=[a-z])/gm, `${programName(env)} `);

/** A word as a shell takes it: an order id may hold blanks. */
export const quoted = (word: string): string =>
  /^[\w.:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
