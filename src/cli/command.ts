import type { Connection } from '@temporalio/client';
import type { Option } from 'commander';
import { createFaretrailClient, type FaretrailClient } from '../client/index.js';
import { deadlineIn, monotonicMs } from '../clock.js';
import type { CliConfig, Config } from '../config.js';
import { shellWord } from '../domain/shell-word.js';
import type { Env } from '../settings/env-reader.js';
import { connectClient } from '../temporal/connection.js';
import { type FoundRun, runOf } from '../temporal/runs.js';
import { isAddress, isNamespace } from '../temporal/settings.js';
import type { Found, Looking } from '../temporal/visibility.js';
import { option, textThat } from './arguments.js';
import { type CliFailure, exitCodes } from './failure.js';
import { asShown, type Columns, paint, rowsText, toJsonLine } from './text.js';

/** Stdout or stderr. */
interface TextSink {
  write(text: string): unknown;
  isTTY?: boolean;
  /** The width of a terminal. */
  columns?: number;
}

/** What the process gives to the commands. Only a command that needs the settings reads them. */
export interface CliProcess {
  env: Env;
  stdout: TextSink;
  stderr: TextSink;
  /** Throws `ConfigError`. */
  loadSettings(env: Env): CliConfig;
  /** The same with the client secrets. Throws `ConfigError`. */
  loadSettingsWithSecrets(env: Env): Config;
  /** How long to wait for the connection to Temporal. Default 5 s, since a person waits. */
  connectWithinMs?: number;
  /** Asks the person at the terminal, and gives the line they type; absent without a terminal. */
  question?: ((text: string) => Promise<string>) | undefined;
  /** The name of the person at the shell. */
  userName: string;
  /** Calls `act` at Ctrl-C, SIGTERM or SIGHUP instead of ending the process. Returns a function that undoes this. */
  onInterrupt(act: () => void): () => void;
}

/** What a command works with. `env` holds the options that override it. */
export interface CommandContext extends CliProcess {
  /** Who decides: the identity under which Temporal keeps what the command does. */
  actor: string;
  isJson: boolean;
  /** The result: `json` as one line, or the text. */
  tell(json: unknown, text: string): void;
  /** Rows as text that fits the terminal. */
  table<Row>(columns: Columns<Row>, rows: readonly Row[]): string;
  /** A part of the text of a result. With --json it is left out. */
  say(text: string): void;
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

const isActor = (text: string): boolean => /^[^\p{C}]{1,100}$/u.test(text) && text.trim() !== '';

const toAddress = textThat(isAddress, 'a host with its port, such as temporal.example.com:7233');
const toNamespace = textThat(isNamespace, 'a name without blanks');
const toActor = textThat(isActor, '1 to 100 characters without control characters');

/** The options that every command takes. */
export const commonOptions = (): Option[] => [
  option('--json', 'print JSON'),
  option('--address <host:port>', 'server to use in place of TEMPORAL_ADDRESS', toAddress),
  option('--namespace <name>', 'namespace to use in place of TEMPORAL_NAMESPACE', toNamespace),
  option('--as <name>', 'who decides, kept in the run; default: your user name', toActor),
];

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
  const shown = (text: string): string => `${asShown(text, stdout.isTTY, env.NO_COLOR)}\n`;
  const note = (text: string): void => void (json || stderr.write(shown(text)));
  return {
    ...around,
    env,
    actor,
    isJson: json,
    tell: (value, text) => void stdout.write(json ? `${toJsonLine(value)}\n` : shown(text)),
    table: (columns, rows) => rowsText(columns, rows, stdout.isTTY ? stdout.columns : undefined),
    say: (text) => void (json || stdout.write(shown(text))),
    note,
    warn(warnings) {
      for (const warning of warnings) note(`${paint('bad', 'warning:')} ${warning}`);
    },
    commandLine(...words) {
      const same = Object.entries({ address, namespace }).flatMap(([name, value]) =>
        value ? [`--${name}`, value] : [],
      );
      return [programName(env), ...[...words, ...same].map(shellWord)].join(' ');
    },
  };
}

const noteEveryMs = 2_000;

/** Notes how far a long command has come, every two seconds. */
export function createProgressNote({ note }: Pick<CommandContext, 'note'>): (text: () => string) => void {
  let notedAt = monotonicMs();
  return (text) => {
    if (monotonicMs() - notedAt < noteEveryMs) return;
    notedAt = monotonicMs();
    note(text());
  };
}

/** Runs a command with its arguments and options by name, and gives the exit code. */
export type Act<Given> = (context: CommandContext, given: Given) => Promise<number>;

/** One command: what its help says, what it takes, and what it does. */
export interface CommandSpec {
  /** Its name with its arguments, all of which `knownArgument` knows. */
  form: string;
  /** One line for the list of commands. */
  does: string;
  /** What follows the command in its examples; default: the command alone. */
  examples?: readonly string[];
  /** Lines of at most 80 columns, between the options and the examples. */
  more?: string;
  options?: readonly Option[];
  act: Act<never>;
}

/** Commands about one thing. */
export interface Noun {
  noun: string;
  does: string;
  verbs: readonly CommandSpec[];
}

/** What a command works with that has a connection to Temporal. */
export interface Session extends CommandContext, Looking {
  /** The typed client, for everything that other services can do too. */
  rides: FaretrailClient;
  connection: Connection;
  namespace: string;
  address: string;
  config: CliConfig;
  /** The newest run with this workflow id; undefined when Temporal remembers none. Needs no worker. */
  find(workflowId: string): Promise<FoundRun | undefined>;
  /** The same; throws `unknown` when Temporal remembers none. */
  get(workflowId: string, unknown: CliFailure): Promise<FoundRun>;
}

const defaultConnectWithinMs = 5_000;

/** For calls that need no worker. */
export const callTimeoutMs = 10_000;
/** For queries: long enough for a busy worker, short enough for a person who waits. */
export const queryTimeoutMs = 5_000;

/** Reads the settings, connects, and closes the connection after `act`. */
export async function withSession<T>(context: CommandContext, act: (session: Session) => Promise<T>): Promise<T> {
  const config = context.loadSettings(context.env);
  const { client, connection, namespace, address } = await connectClient(context.env, {
    withinMs: context.connectWithinMs ?? defaultConnectWithinMs,
    identity: context.actor,
  });
  try {
    const rides = createFaretrailClient({ client, taskQueue: config.taskQueue });
    const find: Session['find'] = (workflowId) => runOf(client, workflowId).find({ withinMs: callTimeoutMs });
    return await act({
      ...{ ...context, client, rides, connection, namespace, address, config, find },
      inTime: (call) => connection.withDeadline(deadlineIn(callTimeoutMs), call),
      async get(workflowId, unknown) {
        const found = await find(workflowId);
        if (!found) throw unknown;
        return found;
      },
    });
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

/** A command that lists something: JSON with the rows under `name`, or a table. */
interface Listing<Given, Row> {
  name: string;
  /** The text where there is no row. */
  empty: string;
  /** `more`: what to say where there are more than it has found. */
  find(session: Session, given: Given): Promise<Found<Row> & { more?: string }>;
  columns: Columns<Row>;
  /** Lines below the table. */
  notes?(rows: readonly Row[]): string[];
}

/** The one way to list. */
export const listing = <Given, Row>({ name, empty, columns, notes, find }: Listing<Given, Row>): Act<Given> =>
  inSession(async (session, given) => {
    const { rows, hasMore, more } = await find(session, given);
    const below = notes?.(rows) ?? [];
    const text = [session.table(columns, rows), ...(below.length > 0 ? ['', ...below] : [])].join('\n');
    session.tell({ [name]: rows, hasMore }, rows.length === 0 ? empty : text);
    if (hasMore) session.note(more ?? `There are more than ${rows.length}; narrow the list.`);
    return exitCodes.done;
  });

/** In a checkout `faretrail` is not on the path, so a caller who ran the npm script sees the npm script. */
export const programName = (env: Env): string =>
  env.npm_lifecycle_event === 'starter' ? 'npm run starter --' : 'faretrail';

/** Puts the caller's program name into the commands of a text, found at the start of an indented line or after a colon. */
export const withProgramName = (text: string, env: Env): string =>
  text.replaceAll(/(?<=^ {2}|: )faretrail (?=[a-z])/gm, `${programName(env)} `);
