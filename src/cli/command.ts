import type { Client, Connection } from '@temporalio/client';
import type { Command } from 'commander';
import { createFaretrailClient, type FaretrailClient } from '../client/index.js';
import type { CliConfig, Config } from '../config.js';
import { InvalidInput } from '../domain/errors.js';
import type { Env } from '../settings/env-reader.js';
import { connectClient } from '../temporal/connection.js';
import { checked, knownArgument } from './arguments.js';
import { type Paint, paintFor, toJsonLine } from './text.js';

/** A stream of the process, as far as the commands write to it. */
interface TextSink {
  write(text: string): unknown;
  isTTY?: boolean;
}

/** What the process gives to the commands. A command reads the settings when it needs them. */
export interface CliProcess {
  env: Env;
  stdout: TextSink;
  stderr: TextSink;
  /** Throws `ConfigError`. */
  loadSettings(): CliConfig;
  /** The same with the client secrets. Throws `ConfigError`. */
  loadSettingsWithSecrets(): Config;
  /** How long to wait for Temporal to take the connection. Default 5 s: a person waits. */
  connectWithinMs?: number;
  /** Calls `act` at Ctrl-C or SIGTERM in place of ending the process. Returns what undoes it. */
  onInterrupt(act: () => void): () => void;
}

/** What a command works with. `env` holds the options that override it. */
export interface CommandContext extends CliProcess {
  paint: Paint;
  isJson: boolean;
  /** The result: `json` as one line, or the text. */
  tell(json: unknown, text: string): void;
  /** Something to know beside the result: to stderr, and only for people. */
  note(text: string): void;
  /** Notes each warning; where the result is JSON, it has to hold them itself. */
  warn(warnings: readonly string[]): void;
  /** A command that the reader of a hint can type, for the same server. */
  commandLine: CommandLine;
  /** A message that names our program, settings and options as this caller has given them. */
  inTheirWords(message: string): string;
}

/** Writes a command of ours as its reader can type it. */
export type CommandLine = (...words: string[]) => string;

/** Options that every command takes. */
export interface CommonOptions {
  json?: boolean;
  address?: string;
  namespace?: string;
}

/** Adds the options that every command takes. */
export const withCommonOptions = (command: Command): Command =>
  command
    .option('--json', 'print JSON')
    .option('--address <host:port>', 'server to use in place of TEMPORAL_ADDRESS', checked(toAddress))
    .option('--namespace <name>', 'namespace to use in place of TEMPORAL_NAMESPACE', checked(toNamespace));

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

/** What a command is given, of the process and of its own options. */
export function createContext(around: CliProcess, { json = false, ...place }: CommonOptions): CommandContext {
  const { stdout, stderr } = around;
  const overrides = [
    { variable: 'TEMPORAL_ADDRESS', option: '--address', value: place.address },
    { variable: 'TEMPORAL_NAMESPACE', option: '--namespace', value: place.namespace },
  ].flatMap(({ value, ...names }) => (value === undefined ? [] : [{ ...names, value }]));
  const env: Env = { ...around.env, ...Object.fromEntries(overrides.map(({ variable, value }) => [variable, value])) };
  const paint = paintFor(stdout.isTTY === true, env.NO_COLOR);
  const note = (text: string): void => {
    if (!json) stderr.write(`${text}\n`);
  };
  return {
    ...around,
    env,
    isJson: json,
    paint,
    tell: (value, text) => void stdout.write(`${json ? toJsonLine(value) : text}\n`),
    note,
    warn(warnings) {
      for (const warning of warnings) note(`${paint('bad', 'warning:')} ${warning}`);
    },
    commandLine(...words) {
      const same = overrides.flatMap(({ option, value }) => [option, value]);
      return [programName(env), ...[...words, ...same].map(quoted)].join(' ');
    },
    inTheirWords: (message) =>
      overrides.reduce(
        (text, { variable, option }) => text.replaceAll(variable, option),
        withProgramName(message, env),
      ),
  };
}

/** What a command does with its arguments and options, by name. The answer is the exit code. */
export type Act<Given> = (context: CommandContext, given: Given) => Promise<number>;

/** Makes an action of commander's out of what a command does. */
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
  for (const argument of names) command.addArgument(knownArgument(argument.slice(1, -1)));
  const words = ['faretrail', ...(parent.parent ? [parent.name()] : []), name];
  const lines = examples.map((example) => `  ${[...words, example].join(' ').trimEnd()}`);
  if (parent.parent) parent.addHelpText('after', lines[0] ?? '');
  const text = more === '' ? [] : ['', more.trim()];
  return command.addHelpText('after', [...text, '', lines.length > 1 ? 'Examples:' : 'Example:', ...lines].join('\n'));
}

/** A connection to Temporal for one command. */
export interface Session {
  client: Client;
  /** Our own client, for all that other services can do as well. */
  rides: FaretrailClient;
  connection: Connection;
  namespace: string;
  address: string;
  config: CliConfig;
  /** Fails calls to Temporal that take longer; none has a deadline of its own. */
  within<T>(ms: number, act: () => Promise<T>): Promise<T>;
}

const defaultConnectWithinMs = 5_000;

/** For calls that need no worker. */
export const callTimeoutMs = 10_000;

/** Reads the settings, connects, and closes the connection whatever happens. */
export async function withSession<T>(context: CommandContext, act: (session: Session) => Promise<T>): Promise<T> {
  const config = context.loadSettings();
  const { client, connection, namespace, address } = await connectClient(context.env, {
    withinMs: context.connectWithinMs ?? defaultConnectWithinMs,
  });
  const within: Session['within'] = (ms, call) => connection.withDeadline(Date.now() + ms, call);
  try {
    const rides = createFaretrailClient({ client, taskQueue: config.taskQueue });
    return await act({ client, rides, connection, namespace, address, config, within });
  } finally {
    await connection.close();
  }
}

/** What a command does in a session. */
export const inSession =
  <Input>(act: (context: CommandContext, session: Session, input: Input) => Promise<number>): Act<Input> =>
  (context, input) =>
    withSession(context, (session) => act(context, session, input));

/** Reads what was given before `act` begins, so that wrong usage ends the command before any connection. */
export const reading =
  <Given, Input>(read: (given: Given, context: CommandContext) => Input, act: Act<Input>): Act<Given> =>
  async (context, given) =>
    await act(context, read(given, context));

/** In a checkout `faretrail` is not on the path: a caller who used its script is shown the script. */
export const programName = (env: Env): string =>
  env.npm_lifecycle_event === 'starter' ? 'npm run starter --' : 'faretrail';

/** Texts name our commands at the start of an indented line or after a colon; this puts the caller's program name there. */
export const withProgramName = (text: string, env: Env): string =>
  text.replaceAll(/(?<=^ {2}|: )faretrail (?=[a-z])/gm, `${programName(env)} `);

/** A word as a shell takes it: an order id may hold blanks. */
export const quoted = (word: string): string =>
  /^[\w.:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
